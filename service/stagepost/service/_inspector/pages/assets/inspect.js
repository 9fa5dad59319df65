// Pages follow what they show: their parts come as events and are replaced whole. Without this script they still work.
const room = document.querySelector("[data-live]");
const pulse = document.querySelector("[data-pulse]");

function say(text) {
  if (pulse.textContent !== text) pulse.textContent = text;
  pulse.classList.toggle("is-lost", text !== "Live");
}

// What a person has opened, typed or scrolled stays: forms that were touched are put into the new part as they are.
function replace(id, html) {
  const old = document.getElementById(id);
  if (!old) return location.reload();
  const made = document.createElement("template");
  made.innerHTML = html;
  const next = made.content.firstElementChild;
  const at = old.contains(document.activeElement) ? document.activeElement : null;
  for (const each of old.querySelectorAll("details[id]")) {
    const same = next.querySelector(`#${CSS.escape(each.id)}`);
    if (same) same.open = each.open;
  }
  for (const each of old.querySelectorAll("form[id]")) {
    const same = next.querySelector(`#${CSS.escape(each.id)}`);
    if (same && (each.dataset.touched || each.contains(at))) same.replaceWith(each);
  }
  const places = [...old.querySelectorAll("[id]")].filter((each) => each.scrollTop || each.scrollLeft);
  const scrolled = places.map((each) => [each.id, each.scrollLeft, each.scrollTop]);
  old.replaceWith(next);
  for (const [name, left, top] of scrolled) document.getElementById(name)?.scrollTo(left, top);
  if (at) (at.isConnected ? at : document.getElementById(at.id))?.focus({ preventScroll: true });
}

function follow() {
  const address = new URL(location.href);
  address.searchParams.set("live", room.dataset.live);
  const source = new EventSource(address);
  source.onopen = () => say("Live");
  source.onerror = () => {
    say("Not connected: trying again");
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
  };
  source.addEventListener("part", (event) => {
    const part = JSON.parse(event.data);
    replace(part.id, part.html);
  });
  source.addEventListener("state", (event) => (room.dataset.live = event.data));
  source.addEventListener("gone", () => { source.close(); say("Deleted"); });
}

document.addEventListener("input", (event) => { if (event.target.form) event.target.form.dataset.touched = "yes"; });
document.addEventListener("keydown", (event) => {
  const field = document.querySelector("[data-search]");
  if (event.key !== "/" || !field || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  field.focus();
});
if (room?.dataset.live) follow();
