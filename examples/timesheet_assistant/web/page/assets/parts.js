// Parts as their channels show them: bubbles, a mail, a card. Only texts and known elements get onto the page.
import { element, visible } from "../chat/text.js";

const ALLOWED = new Set(["A", "B", "BLOCKQUOTE", "BR", "CODE", "EM", "H1", "H2", "H3", "H4", "H5", "H6", "HR", "LI", "OL", "P", "PRE", "S", "STRONG", "TABLE", "TBODY", "TD", "TH", "THEAD", "TR", "UL"]);

/** One part that has gone out. */
export function part(channel, given) {
  if (given.html) return mail(given);
  if (given.card) return card(given.card);
  return bubble(channel, given);
}

function bubble(channel, given) {
  const marker = given.continuation_indicator;
  const text = marker && given.content.endsWith(marker) ? given.content.slice(0, -marker.length).trimEnd() : given.content;
  const said = element("div", { class: "text" }, ...(channel === "whatsapp" ? marked(visible(text)) : [visible(text)]));
  return element("div", { class: `part bubble ${channel}`, dir: "auto" }, said, ...(marker ? [" ", element("span", { class: "marker" }, marker)] : []));
}

/** WhatsApp's marks: *bold* and _italic_, where they stand around words. */
function marked(text) {
  return text.split(/((?<![\p{L}\p{N}*])\*[^*\n]+\*(?![\p{L}\p{N}*])|(?<![\p{L}\p{N}_])_[^_\n]+_(?![\p{L}\p{N}_]))/u).map((piece, at) => {
    if (at % 2 === 0) return piece;
    return element(piece[0] === "*" ? "strong" : "em", {}, ...marked(piece.slice(1, -1)));
  });
}

function mail(given) {
  const body = new DOMParser().parseFromString(given.html.replace(/ style="[^"]*"/g, ""), "text/html").body;
  const shown = element("div", { class: "body", dir: "auto" }, ...copied(body));
  return element("section", { class: "part mail", "aria-label": "Mail" }, element("p", { class: "subject" }, element("span", {}, "Subject "), element("b", {}, visible(given.subject ?? ""))), shown);
}

function copied(node) {
  return [...node.childNodes].flatMap((child) => {
    if (child.nodeType === Node.TEXT_NODE) return [child.data];
    if (child.nodeType !== Node.ELEMENT_NODE) return [];
    if (!ALLOWED.has(child.tagName)) return copied(child);
    const made = child.tagName === "A" ? link(child.getAttribute("href"), ...copied(child)) : element(child.tagName.toLowerCase(), {}, ...copied(child));
    if (child.tagName === "TABLE") return [element("div", { class: "table-room" }, made)];
    return [/^H[1-6]$/.test(child.tagName) ? element("p", { class: `heading ${child.tagName.toLowerCase()}` }, ...copied(child)) : made];
  });
}

function link(address, ...children) {
  const isSafe = /^(https?:\/\/|mailto:)/i.test(address ?? "");
  return isSafe ? element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...children) : element("span", {}, ...children);
}

/** An adaptive card. */
function card(given) {
  const buttons = (given.actions ?? []).map((action) => (action.url ? link(action.url, visible(action.title)) : element("span", { class: "badge" }, visible(action.title))));
  const made = element("section", { class: "part card-shown", "aria-label": "Adaptive card", dir: "auto" }, ...(given.body ?? []).map(shown));
  if (buttons.length) made.append(element("div", { class: "buttons" }, ...buttons));
  return made;
}

function shown(one) {
  if (one.type === "TextBlock") return element("p", { class: one.isSubtle ? "quiet" : "" }, visible(one.text));
  if (one.type === "RichTextBlock") return element("p", { class: one.inlines[0]?.size ? "heading" : "" }, ...one.inlines.map(run));
  if (one.type === "Container") return element("div", { class: "container" }, ...one.items.map(shown));
  if (one.type === "Table") return element("div", { class: "table-room" }, element("table", {}, ...one.rows.map(row)));
  if (one.type === "Image") return link(one.url, visible(one.altText || one.url));
  return element("span", {});
}

function row(one, at) {
  return element("tr", {}, ...one.cells.map((cell) => element(at === 0 ? "th" : "td", at === 0 ? { scope: "col" } : {}, ...cell.items.flatMap((item) => item.inlines.map(run)))));
}

function run(one) {
  const name = one.fontType === "Monospace" ? "code" : one.weight === "Bolder" ? "strong" : one.italic ? "em" : one.strikethrough ? "s" : "span";
  const made = element(name, {}, visible(one.text));
  return one.selectAction ? link(one.selectAction.url, made) : made;
}
