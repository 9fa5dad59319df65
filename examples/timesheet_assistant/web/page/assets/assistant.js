// The page: a conversation over several channels, what is typed, and what is said by whom.
import { Refused, ask, follow } from "../chat/stream.js";
import { begin as beginSide } from "./side.js";
import { Turn } from "./turn.js";

const page = document.querySelector("#assistant");
const composer = document.querySelector("#composer");
const input = composer.elements.message;
const send = composer.querySelector("button[type=submit]");
const notice = document.querySelector("#notice");
const spoken = document.querySelector("#spoken");
const user = document.querySelector("#user");
const path = document.querySelector("#path");
const tabs = [...document.querySelectorAll("[role=tab]")];
const { ask: assistant, runs, login } = page.dataset;

let conversation = null; // of the URL
let channel = tabs[0].dataset.channel;
let reading = new AbortController(); // ends what is read of a conversation when another one begins

function begin() {
  const given = new URL(location).searchParams;
  const id = given.get("conversation") ?? "";
  conversation = /^[\w-]{8,64}$/.test(id) ? id : crypto.randomUUID();
  if ([...user.options].some((each) => each.value === given.get("user"))) user.value = given.get("user");
  if (conversation !== id) history.replaceState(null, "", address(conversation));
  reading.abort();
  reading = new AbortController();
  document.querySelectorAll(".turns").forEach((each) => each.replaceChildren());
  tabs.forEach(count);
  tell(null);
  restore().catch(refuse);
}

/** Show what was said in this conversation, and follow what is not answered yet. */
async function restore() {
  const mine = reading;
  page.setAttribute("aria-busy", "true");
  try {
    const said = await ask(`${assistant}/${conversation}`);
    for (const each of said) {
      if (mine !== reading) return;
      await listen(add(each.channel, null), each.run_id);
    }
    if (mine === reading && said.length) show(said.at(-1).channel);
  } finally {
    if (mine === reading) page.setAttribute("aria-busy", "false");
  }
}

async function say(message) {
  const shown = add(channel, message);
  const body = { request_id: crypto.randomUUID(), conversation_id: conversation, message, channel, user: user.value, path: path.value };
  try {
    const { run_id, channel: by } = await patiently(() => ask(assistant, { method: "POST", body }));
    if (by !== shown.channel) move(shown, by); // EMAIL after a summary
    await listen(shown, run_id);
  } catch (error) {
    refuse(error);
    shown.end("failed", error.message);
  }
}

/** Follow the run of an answer to its end, through lost connections and restarts. */
async function listen(shown, run) {
  const { signal } = reading;
  await follow({
    signal,
    open: (cursor) =>
      fetch(`${runs}/${encodeURIComponent(run)}/events`, {
        credentials: "same-origin",
        signal,
        headers: { accept: "text/event-stream", ...(cursor === null ? {} : { "last-event-id": cursor }) },
      }),
    hear: (name, data) => shown.hear(name, data),
    lost: (isLost) => tell(isLost && !shown.isOver ? "Connection lost, trying again…" : null),
  });
}

/** Ask until the server is there: it may be about to start. The request has an id, so it is answered once. */
async function patiently(asking) {
  const mine = reading;
  for (;;) {
    try {
      const found = await asking();
      tell(null);
      return found;
    } catch (error) {
      if (mine !== reading || (error instanceof Refused && !error.isPassing)) throw error;
      tell("Connection lost, trying again…");
      await new Promise((wake) => setTimeout(wake, 700));
    }
  }
}

function add(name, message) {
  const turns = document.querySelector(`#panel-${name} .turns`);
  const shown = new Turn(name, message, { say: (text) => (spoken.textContent = text.slice(0, 1000)) });
  turns.append(shown.element);
  tabs.forEach(count);
  return shown;
}

function move(shown, name) {
  shown.channel = name;
  document.querySelector(`#panel-${name} .turns`).append(shown.element);
  tabs.forEach(count);
  show(name);
}

function refuse(error) {
  if (reading.signal.aborted) return;
  if (error instanceof Refused && error.status === 401) location.assign(`${login}?next=${encodeURIComponent(location.pathname + location.search)}`);
  tell(error.message, true);
}

function tell(text, isProblem = false) {
  notice.textContent = text ?? "";
  notice.hidden = !text;
  notice.classList.toggle("is-bad", isProblem);
}

/** Show the channel of a tab; what is typed then goes out by it. */
function show(name, { focus = false } = {}) {
  channel = name;
  for (const tab of tabs) {
    const isShown = tab.dataset.channel === name;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
    document.querySelector(`#panel-${tab.dataset.channel}`).hidden = !isShown;
    if (isShown && focus) tab.focus();
  }
  input.placeholder = `Ask about your hours, by ${tabs.find((tab) => tab.dataset.channel === name).firstChild.data}…`;
  scrollDown();
}

function count(tab) {
  const badge = tab.querySelector(".count");
  const number = document.querySelector(`#panel-${tab.dataset.channel} .turns`).childElementCount;
  badge.textContent = number ? String(number) : "";
  badge.hidden = !number;
  document.querySelector(`#panel-${tab.dataset.channel} .nothing`).hidden = number > 0;
}

const address = (id) => `?conversation=${id}&user=${user.value}`;

function renew() {
  history.pushState(null, "", address(crypto.randomUUID()));
  begin();
}

let isAtEnd = true; // whoever has scrolled up stays there
const scrollDown = () => {
  const hasTurns = document.querySelector(`#panel-${channel} .turns`).childElementCount > 0;
  if (isAtEnd) scrollTo({ top: hasTurns ? document.documentElement.scrollHeight : 0 });
};
addEventListener("scroll", () => (isAtEnd = document.documentElement.scrollHeight - scrollY - innerHeight < 80), { passive: true });
const grown = new ResizeObserver(scrollDown);
document.querySelectorAll(".turns").forEach((each) => grown.observe(each));

tabs.forEach((tab) => tab.addEventListener("click", () => show(tab.dataset.channel)));
document.querySelector("#tabs").addEventListener("keydown", (event) => {
  const at = tabs.indexOf(document.activeElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  show(tabs[(to + tabs.length) % tabs.length].dataset.channel, { focus: true });
});
composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const message = input.value.trim();
  if (!message) return;
  input.value = "";
  send.disabled = true;
  isAtEnd = true;
  say(message);
});
input.addEventListener("input", () => (send.disabled = input.value.trim() === ""));
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    composer.requestSubmit();
  }
});
document.querySelectorAll("[data-try]").forEach((each) =>
  each.addEventListener("click", () => {
    input.value = each.dataset.try;
    composer.requestSubmit();
    input.focus();
  }),
);
user.addEventListener("change", renew);
document.querySelector("#new").addEventListener("click", (event) => {
  event.preventDefault();
  renew();
  input.focus();
});
addEventListener("popstate", begin);
beginSide(page.dataset, refuse);
begin();
