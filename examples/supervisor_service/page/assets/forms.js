// What a turn asks people: an approval, a question with a form made of its JSON schema, a call in doubt.
import { element, facts, worded } from "./text.js";

let made = 0; // forms of this page, for ids that labels refer to

/** May this call be made? `answer(decision)` sends what was decided; the form locks until it is known. */
export function approval(event, answer) {
  const reason = element("input", { type: "text", maxlength: 500, placeholder: "why not (optional)", "aria-label": "Why not" });
  return form(
    { title: `Allow “${worded(event.tool)}”?`, about: facts(event.about), fields: [], lock: answer },
    button("Allow", "", () => ({ allow: true })),
    button("Deny", "button-quiet", () => ({ deny: reason.value.trim() || "a person said no" })),
    reason,
  );
}

/** What is the answer? The fields are those of the schema. */
export function question(event, answer) {
  const schema = event.schema ?? {};
  const isObject = schema.type === "object" && schema.properties;
  const properties = isObject ? schema.properties : { value: { title: "Answer", ...schema } };
  const fields = Object.entries(properties).map(([name, one]) =>
    field(name, resolved(one, schema), !isObject || (schema.required ?? []).includes(name)),
  );
  const given = () => {
    const values = fields.flatMap((each) => (each.read() === undefined ? [] : [[each.name, each.read()]]));
    return isObject ? Object.fromEntries(values) : values[0]?.[1];
  };
  const asked = event.message || event.arguments?.question;
  if (event.url) return elsewhere(event, asked);
  return form(
    { title: asked || `“${worded(event.tool)}” asks:`, about: asked ? "" : facts(event.about), fields, lock: answer },
    button("Answer", "", () => ({ answer: given() ?? null })),
    button("Do not answer", "button-quiet", () => ({ refuse: "the person does not want to answer" }), true),
  );
}

/** Somebody has to go to a page of another service, which answers the question by itself. */
function elsewhere(event, asked) {
  const isPage = /^https?:/.test(event.url);
  const link = element("a", { class: "button", target: "_blank", rel: "noopener", href: isPage ? event.url : null }, "Open the page");
  const about = element("p", {}, `It leads to ${event.url}. Once you are done there, this goes on.`);
  return element("section", { class: "asks" }, element("p", { class: "legend" }, asked || "A page has to be visited"), about, link);
}

/** Did this call take effect? The process ended while it was made. */
export function doubt(event, answer) {
  const result = element("input", { type: "text", maxlength: 500, value: "it was done", "aria-label": "What came of it" });
  const about = element("div", {}, "The process ended during this call, so nobody knows whether it took effect. Look before you answer.");
  about.append(facts(event.about));
  return form(
    { title: `Was “${worded(event.tool)}” done?`, about, fields: [], lock: answer },
    result,
    button("That is so", "", () => ({ result: result.value.trim() || "it was done" })),
    button("Do it again", "button-quiet", () => ({ retry: true })),
  );
}

function form({ title, about, fields, lock }, ...actions) {
  const problem = element("p", { class: "problem", role: "alert", hidden: true });
  const set = element("fieldset", {}, element("legend", {}, title), about, ...fields.map((each) => each.row));
  set.append(element("div", { class: "actions" }, ...actions), problem);
  const whole = element("form", { class: "asks" }, set);
  whole.addEventListener("submit", async (submitted) => {
    submitted.preventDefault();
    set.disabled = true;
    problem.hidden = true;
    try {
      await lock(submitted.submitter.decide());
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = set.disabled = false;
      submitted.submitter.focus();
    }
  });
  return whole;
}

function button(text, kind, decide, skipsChecks = false) {
  const one = element("button", { type: "submit", class: kind, formnovalidate: skipsChecks }, text);
  one.decide = decide;
  return one;
}

/** One field of a form, and how it is read; undefined means that it was left out. */
function field(name, schema, isRequired) {
  const id = `field-${++made}`;
  const input = control(schema, { id, name, required: isRequired && schema.type !== "boolean" });
  const label = element("label", { for: id }, schema.title ?? worded(name));
  if (!isRequired && schema.type !== "boolean" && !schema.enum) label.append(element("i", {}, " optional"));
  const hint = schema.description ? [element("small", { id: `${id}-hint` }, schema.description)] : [];
  if (hint.length) input.setAttribute("aria-describedby", `${id}-hint`);
  return { name, row: element("div", { class: "field" }, label, input, ...hint), read: () => read(input, schema) };
}

function control(schema, attributes) {
  if (schema.enum) {
    const options = schema.enum.map((one) => element("option", { selected: one === schema.default }, String(one)));
    return element("select", attributes, ...options);
  }
  if (schema.type === "boolean") return element("input", { type: "checkbox", checked: schema.default === true, ...attributes });
  if (schema.type === "integer" || schema.type === "number") {
    const step = schema.type === "integer" ? 1 : "any";
    return element("input", { type: "number", step, min: schema.minimum, max: schema.maximum, value: schema.default, ...attributes });
  }
  const lengths = { minlength: schema.minLength, maxlength: schema.maxLength };
  if (schema.type === "string" && !(schema.maxLength > 300))
    return element("input", { type: "text", value: schema.default, pattern: schema.pattern, ...lengths, ...attributes });
  return element("textarea", { rows: 3, ...lengths, ...attributes }, schema.type === "string" ? (schema.default ?? "") : "");
}

function read(input, schema) {
  if (schema.enum) return schema.enum[input.selectedIndex];
  if (schema.type === "boolean") return input.checked;
  if (input.value === "" && !(input.required && schema.type === "string")) return undefined;
  if (schema.type === "integer" || schema.type === "number") return input.valueAsNumber;
  if (schema.type === "string") return input.value;
  try {
    return JSON.parse(input.value);
  } catch {
    if (schema.type) throw new Error(`“${schema.title ?? worded(input.name)}” is not valid JSON.`);
    return input.value; // any value will do
  }
}

/** A schema with its references followed, and without “or null”. */
function resolved(schema, root) {
  const names = schema.$ref?.startsWith("#/") ? schema.$ref.slice(2).split("/") : null;
  if (names) return { ...resolved(names.reduce((found, name) => found?.[name], root) ?? {}, root), ...schema, $ref: undefined };
  const one = (schema.anyOf ?? []).filter((option) => option.type !== "null");
  if (one.length === 1) return { ...schema, ...resolved(one[0], root), title: schema.title };
  return schema.const === undefined ? schema : { ...schema, enum: [schema.const] };
}
