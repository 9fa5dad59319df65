// Texts as elements. Whatever comes from a model or a user is text for the browser, never HTML.

/** A text whose invisible characters are seen: those that control terminals, and those that turn the writing around. */
export function visible(text) {
  return String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** An element with attributes and children; texts among the children become text nodes. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : visible(child))));
  return made;
}

const LONG = 20_000; // characters: longer texts are shown as they are

/** Fill an element with a text in simple Markdown: paragraphs, lists, headings, code, bold, emphasis. */
export function fill(target, raw) {
  const text = visible(raw);
  if (text.length <= LONG) return target.replaceChildren(...blocks(text));
  const shown = target.querySelector(":scope > .plain")?.firstChild;
  if (shown && text.startsWith(shown.data)) return shown.appendData(text.slice(shown.length));
  return target.replaceChildren(element("p", { class: "plain" }, text));
}

function blocks(text) {
  const made = [];
  let list = null;
  let paragraph = null;
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const item = /^\s*(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/.exec(line);
    const heading = /^#{1,6}\s+(.*)$/.exec(line);
    if (line.startsWith("```")) {
      const end = lines.findIndex((later, place) => place > at && later.startsWith("```"));
      const last = end < 0 ? lines.length : end;
      made.push(element("pre", {}, element("code", {}, lines.slice(at + 1, last).join("\n"))));
      at = last;
      list = paragraph = null;
    } else if (item) {
      const kind = item[1] ? "ol" : "ul";
      if (list?.localName !== kind) made.push((list = element(kind, item[1] ? { start: item[1] } : {})));
      list.append(element("li", {}, ...spans(item[2])));
      paragraph = null;
    } else if (heading) {
      made.push(element("p", { class: "heading" }, ...spans(heading[1])));
      list = paragraph = null;
    } else if (line.trim() === "") {
      list = paragraph = null;
    } else {
      if (paragraph) paragraph.append(element("br"));
      else made.push((paragraph = element("p")));
      paragraph.append(...spans(line));
      list = null;
    }
  }
  return made;
}

function spans(line) {
  const names = { "`": "code", "**": "strong", "*": "em" };
  return line.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/).map((piece) => {
    const mark = /^(`|\*\*|\*)[^]+\1$/.exec(piece)?.[1];
    return mark ? element(names[mark], {}, piece.slice(mark.length, -mark.length)) : piece;
  });
}

/** A value of JSON as a list of names and values, in words that people read. */
export function facts(value) {
  if (typeof value !== "object" || value === null) return element("span", {}, readable(value));
  const rows = Object.entries(value).flatMap(([name, one]) => [element("dt", {}, worded(name)), element("dd", {}, readable(one))]);
  return element("dl", { class: "facts" }, ...rows);
}

/** A name of code in words: "city_name" becomes "city name". */
export function worded(name) {
  return String(name).replaceAll("_", " ");
}

/** A duration in words. */
export function lasted(milliseconds) {
  return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${Math.round(milliseconds / 60_000)} min`;
}

function readable(value) {
  if (value === null) return "none";
  if (typeof value !== "object") return String(value);
  const isFlat = !Array.isArray(value) && Object.values(value).every((one) => typeof one !== "object");
  return isFlat ? Object.values(value).join(", ") : JSON.stringify(value);
}
