// Beside the conversation: what goes wrong, and the style guide.
import { ask } from "../chat/stream.js";

const NARROW = matchMedia("(max-width: 60rem)");

/** Fill the settings, and send what is changed. `refuse(error)` tells what the server does not do. */
export function begin({ failures, style }, refuse) {
  document.querySelectorAll("#side details").forEach((each) => (each.open = !NARROW.matches));
  switches(failures, refuse);
  guide(style, refuse);
}

function switches(url, refuse) {
  const boxes = [...document.querySelectorAll("#failures input")];
  const shown = (found) => boxes.forEach((box) => (box.checked = found[box.name]));
  ask(url).then(shown, refuse);
  const change = () => ask(url, { method: "POST", body: Object.fromEntries(boxes.map((box) => [box.name, box.checked])) }).then(shown, refuse);
  boxes.forEach((box) => box.addEventListener("change", change));
}

function guide(url, refuse) {
  const form = document.querySelector("#style");
  const text = form.querySelector("textarea");
  const edition = document.querySelector("#edition");
  const save = form.querySelector("button");
  const shown = (found) => {
    if (document.activeElement !== text && text.dataset.edited !== "yes") text.value = found.text;
    edition.classList.toggle("is-bad", found.problem !== null);
    text.setAttribute("aria-invalid", String(found.problem !== null));
    edition.textContent = found.problem === null ? `In use: ${found.version}` : `Refused, ${found.version} stays in use. ${found.problem.replace(/^.*\//gm, "")}`;
  };
  const look = () => document.hidden || save.disabled || ask(url).then(shown, () => undefined); // the conversation tells
  ask(url).then(shown, refuse);
  setInterval(look, 3000); // somebody may edit the file, too
  text.addEventListener("input", () => (text.dataset.edited = "yes"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      shown(await ask(url, { method: "POST", body: { text: text.value } }));
      text.dataset.edited = "no";
    } catch (error) {
      refuse(error);
    } finally {
      save.disabled = false;
    }
  });
}
