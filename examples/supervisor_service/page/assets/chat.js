// The page: a session, its turns, and what is typed.
import { Refused, ask, follow } from "./stream.js";
import { Turn } from "./turn.js";

const LONGEST = 32_000; // characters of a message
const OPEN = ["running", "waiting"]; // statuses of a turn that has not ended
const page = document.querySelector("#chat");
const log = document.querySelector("#turns");
const composer = document.querySelector("#composer");
const input = composer.elements.message;
const send = composer.querySelector("button[type=submit]");
const stop = composer.querySelector("#stop");
const notice = document.querySelector("#notice");
const counter = document.querySelector("#counter");
const spoken = document.querySelector("#spoken");
const { chat, waits, runs, login } = page.dataset;

let session = null; // of the URL
let isWorking = true; // whether a turn is answered, or the session is not shown yet
let reading = new AbortController(); // ends what is read of a session when another one begins

function begin() {
  const given = new URL(location).searchParams.get("session") ?? "";
  const isValid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(given);
  session = isValid ? given.toLowerCase() : newId();
  if (!isValid) history.replaceState(null, "", `?session=${session}`);
  reading.abort();
  reading = new AbortController();
  log.replaceChildren();
  input.value ||= sessionStorage.getItem(`typed/${session}`) ?? "";
  sessionStorage.removeItem(`typed/${session}`);
  tell(null);
  busy(true);
  const mine = reading;
  restore()
    .catch(refuse)
    .finally(() => mine === reading && busy(false));
}

/** Show what was said in this session, and follow its open turn, if there is one. */
async function restore() {
  const mine = reading;
  const told = await patiently(() => ask(`${chat}/${session}`));
  if (mine !== reading) return;
  for (const past of told.turns) {
    const shown = add(past.message);
    if (past === told.turns.at(-1) && OPEN.includes(past.status)) {
      await listen(shown, (cursor) => get(`${chat}/${session}/events`, cursor));
    } else settle(shown, past);
  }
  document.body.classList.toggle("empty", log.childElementCount === 0);
}

/** Show the end of a turn as the session has it. */
function settle(shown, past) {
  past.worker_details.forEach((detail, place) => {
    if (shown.cards.size > place) return;
    const named = { worker: detail.worker_name, call_id: `past-${place}` };
    shown.work("worker_started", { ...named, request: detail.worker_request });
    for (const call of detail.internal_tool_calls) shown.work("worker_tool_call", { ...named, tool: call.tool, args: call.input });
    if (past.status === "cancelled" && !detail.worker_response) return; // it was stopped
    shown.work("worker_completed", { ...named, response: detail.worker_response, status: detail.status, duration_ms: detail.duration_ms });
  });
  shown.text = past.response ?? "";
  if (past.status === "cancelled") shown.stop();
  else shown.end(past.status === "completed" ? null : "This turn could not be answered.");
}

async function say(message) {
  const key = newId();
  const body = JSON.stringify({ message, session_id: session });
  await listen(add(message), (cursor) =>
    fetch(chat, {
      method: "POST",
      credentials: "same-origin",
      body,
      signal: reading.signal,
      headers: { "content-type": "application/json", accept: "text/event-stream", "idempotency-key": key, ...after(cursor) },
    }),
  );
}

/** Follow a turn to its end, through lost connections and restarts. */
async function listen(shown, open) {
  const mine = reading;
  let wasLost = false;
  busy(true);
  try {
    const end = await follow({
      open,
      signal: reading.signal,
      hear: (name, data) => shown.hear(name, data),
      lost: (isLost) => {
        wasLost ||= isLost;
        tell(isLost ? "Connection lost, trying again…" : null);
      },
    });
    if (mine !== reading) return;
    const past = wasLost || end !== "done" ? (await ask(`${chat}/${session}`)).turns.at(-1) : null;
    if (past && (wasLost || end === null)) settle(shown, past);
    else if (past?.status === "cancelled") shown.stop();
    else shown.end(end === "error" ? shown.failure : null);
  } catch (error) {
    if (mine === reading) refuse(error, shown);
  } finally {
    if (mine === reading) busy(false);
  }
}

/** Say why the server does not do what was asked; a message that it did not take comes back into the field. */
function refuse(error, shown = null) {
  const isUntaken = shown && shown.cards.size === 0 && shown.text === "";
  if (error instanceof Refused && error.status === 401) return logIn(isUntaken ? shown.message : input.value);
  const again = error instanceof Refused && error.after ? ` Try again in ${error.after} s.` : "";
  tell(error.message.replace(/[^.]$/, "$&.") + again, true);
  if (isUntaken) {
    if (input.value === "") input.value = shown.message;
    shown.element.remove();
    document.body.classList.toggle("empty", log.childElementCount === 0);
    count();
  } else shown?.end("The rest of this answer could not be read.");
  return undefined;
}

/** Go to the login, which leads back to this session; what was typed is there again then. */
function logIn(typed) {
  sessionStorage.setItem(`typed/${session}`, typed);
  location.assign(`${login}?next=${encodeURIComponent(location.pathname + location.search)}`);
}

function add(message) {
  document.body.classList.remove("empty");
  const shown = new Turn(message, {
    decide,
    say: (text) => (spoken.textContent = text.slice(0, 1000)),
  });
  shown.message = message;
  log.append(shown.element);
  return shown;
}

/** Send what a person has decided about something that a turn waits for. */
function decide(id, decision) {
  return ask(`${waits}/${encodeURIComponent(id)}`, { method: "POST", body: decision }).catch((error) => {
    if (error instanceof Refused && error.status === 401) logIn(input.value);
    throw error;
  });
}

/** End the turn that is under way: its stream then tells its end, as it does when somebody else has ended it. */
async function cancel() {
  stop.disabled = true;
  try {
    const last = (await ask(`${chat}/${session}`)).turns.at(-1);
    if (last && OPEN.includes(last.status)) await ask(`${runs}/${encodeURIComponent(`${session}-${last.turn}`)}/cancel`, { method: "POST", body: {} });
  } catch (error) {
    if (!(error instanceof Refused && error.status === 409)) refuse(error); // it has just ended by itself
  } finally {
    stop.disabled = false;
  }
}

function tell(text, isProblem = false) {
  notice.textContent = text ?? "";
  notice.hidden = !text;
  notice.classList.toggle("failed", isProblem);
}

function busy(isBusy) {
  isWorking = isBusy;
  stop.hidden = !isBusy || log.childElementCount === 0;
  page.setAttribute("aria-busy", String(isBusy));
  count();
}

function count() {
  const long = [...input.value].length;
  counter.textContent = long > LONGEST * 0.9 ? `${long.toLocaleString()} of ${LONGEST.toLocaleString()} characters` : "";
  counter.classList.toggle("failed", long > LONGEST);
  input.setAttribute("aria-invalid", String(long > LONGEST));
  send.disabled = isWorking || long > LONGEST || input.value.trim() === "";
}

/** Ask until the server is there: it may be about to start. */
async function patiently(asking) {
  for (;;) {
    try {
      const found = await asking();
      tell(null);
      return found;
    } catch (error) {
      if (error instanceof Refused && !error.isPassing) throw error;
      tell("Connection lost, trying again…");
      await new Promise((wake) => setTimeout(wake, 1000));
    }
  }
}

const after = (cursor) => (cursor === null ? {} : { "last-event-id": cursor });
const get = (url, cursor) => fetch(url, { credentials: "same-origin", signal: reading.signal, headers: { accept: "text/event-stream", ...after(cursor) } });

function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

stop.addEventListener("click", cancel);
composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const message = input.value;
  if (send.disabled) return;
  input.value = "";
  isAtEnd = true;
  tell(null);
  say(message);
});
input.addEventListener("input", count);
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    composer.requestSubmit();
  }
});
document.querySelector("#new").addEventListener("click", (event) => {
  event.preventDefault();
  history.pushState(null, "", `?session=${newId()}`);
  begin();
  input.focus();
});
document.querySelectorAll("[data-try]").forEach((each) =>
  each.addEventListener("click", () => {
    input.value = each.dataset.try;
    count();
    composer.requestSubmit();
  }),
);
let isAtEnd = true; // whoever has scrolled up stays there
addEventListener("scroll", () => (isAtEnd = document.documentElement.scrollHeight - scrollY - innerHeight < 60), { passive: true });
new ResizeObserver(() => {
  if (isAtEnd && log.childElementCount) scrollTo({ top: document.documentElement.scrollHeight });
}).observe(log);
addEventListener("popstate", begin);
begin();
