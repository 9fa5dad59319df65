// One turn on the page: what was asked, the workers at work, the answer as it is written.
import { approval, doubt, question } from "./forms.js";
import { element, facts, fill, lasted, visible, worded } from "./text.js";

const FORMS = {
  approval_requested: [approval, "approval_id"],
  question_asked: [question, "question_id"],
  doubt_raised: [doubt, "doubt_id"],
};
const ENDS = { approval_decided: "approval_id", question_answered: "question_id", doubt_settled: "doubt_id" };

export class Turn {
  /** `decide(id, decision)` sends what a person has decided; `say(text)` is read out by screen readers. */
  constructor(message, { decide, say }) {
    this.decide = decide;
    this.say = say;
    this.cards = new Map();
    this.forms = new Map();
    this.text = "";
    this.workers = element("div", { class: "workers" });
    this.answer = element("div", { class: "answer", dir: "auto" });
    this.state = element("p", { class: "state" });
    this.element = element(
      "article",
      { class: "turn" },
      element("div", { class: "request", dir: "auto" }, element("span", { class: "unseen" }, "You: "), message),
      element("div", { class: "reply" }, element("span", { class: "unseen" }, "Supervisor: "), this.workers, this.answer, this.state),
    );
    this.tell("Thinking", true);
  }

  /** Show a sentence below the turn; null for none. */
  tell(text, isWorking = false) {
    this.state.textContent = text ?? "";
    this.state.classList.toggle("working", isWorking);
    this.state.hidden = !text;
  }

  /** One event of the stream. */
  hear(name, data) {
    if (name === "token") return this.write(data.content);
    if (name === "token_reset") return this.write("", data.length);
    if (name === "error") this.failure = data.message;
    if (name in FORMS) return this.ask(name, data);
    if (name in ENDS) return this.asked(data[ENDS[name]]);
    if (name.startsWith("worker_")) return this.work(name, data);
    if (name === "tool_call") return this.begin(data);
    if (name === "tool_result" && !this.cards.get(data.call_id)?.isOver) return this.card(data).end(data.result, "ok");
    return undefined;
  }

  /** Words of the answer, of which what stands after `length` characters is void. Shown once for each frame. */
  write(words, length = Infinity) {
    this.text = (length === Infinity ? this.text : [...this.text].slice(0, length).join("")) + words;
    this.tell(null);
    this.frame ??= requestAnimationFrame(() => this.show());
  }

  show() {
    cancelAnimationFrame(this.frame);
    this.frame = null;
    fill(this.answer, this.text);
  }

  /** The supervisor calls a worker, or a tool of its own: the cards are in the order of the calls. */
  begin(data) {
    this.tell(null);
    const worker = /^ask_(.+)_agent$/.exec(data.tool)?.[1];
    const card = this.card({ ...data, worker: worker ?? data.tool });
    if (worker) card.ask(data.args.request ?? "");
    else card.call(data.tool, data.args);
  }

  work(name, data) {
    this.tell(null);
    const card = this.card(data);
    if (name === "worker_started" && data.request) card.ask(data.request);
    if (name === "worker_tool_call") card.call(data.tool, data.args);
    if (name === "worker_tool_result") card.result(data.result);
    if (name === "worker_completed") card.end(data.response, data.status, data.duration_ms);
    if (name === "worker_completed" && [...this.cards.values()].every((each) => each.isOver)) this.tell("Thinking", true);
  }

  card(data) {
    const key = data.call_id ?? data.worker;
    if (!this.cards.has(key)) {
      const card = new Card(data.worker ?? "supervisor");
      this.cards.set(key, card);
      this.workers.append(card.element);
      this.say(`The ${card.name} worker has started.`);
    }
    return this.cards.get(key);
  }

  ask(name, data) {
    const [make, key] = FORMS[name];
    const id = data[key];
    if (this.forms.has(id)) return;
    const card = this.cards.get(data.call_id);
    const about = card?.tools.includes(data.tool) ? {} : data.arguments; // shown already
    const made = make({ ...data, about }, (decision) => this.decide(id, decision));
    this.forms.set(id, made);
    (card?.element ?? this.workers).append(made);
    card?.wait(true);
    this.tell("Waiting for you");
    this.say(made.querySelector("legend, .legend").textContent);
  }

  asked(id) {
    const form = this.forms.get(id);
    const card = [...this.cards.values()].find((each) => each.element.contains(form ?? null));
    form?.remove();
    card?.wait(false);
    if (![...this.forms.values()].some((each) => each.isConnected)) this.tell(null);
  }

  /** Somebody has stopped the turn: what was written stays, and no worker has failed. */
  stop() {
    this.cards.forEach((card) => card.isOver || card.end("", "stopped"));
    this.end();
    this.tell("Stopped.");
    this.say("Stopped.");
  }

  /** The turn has ended; `failure` says why it could not be answered. */
  end(failure = null) {
    this.show();
    this.forms.forEach((form) => form.remove());
    this.cards.forEach((card) => {
      if (!card.isOver) card.end("", "failed");
      card.fold();
    });
    this.tell(failure);
    this.state.classList.toggle("failed", failure !== null);
    this.say(failure ?? `Supervisor: ${this.text}`);
  }
}

class Card {
  constructor(name) {
    this.name = name;
    this.tools = []; // names of those that it has called
    this.began = performance.now();
    this.time = element("span", { class: "time" });
    this.word = element("span", { class: "word" }, "working");
    this.request = element("span", { class: "asked", dir: "auto" });
    this.steps = element("ol", { class: "steps" });
    this.response = element("div", { class: "said", dir: "auto" });
    const head = element("summary", {}, element("b", {}, worded(name)), this.word, this.time, this.request);
    this.details = element("details", { open: true }, head, this.steps, this.response);
    this.element = element("section", { class: "worker working", "aria-label": `${worded(name)} worker` }, this.details);
    this.clock = setInterval(() => this.tick(), 100);
  }

  tick() {
    if (!this.isWaiting) this.time.textContent = lasted(performance.now() - this.began);
    if (!this.element.isConnected) clearInterval(this.clock);
  }

  ask(request) {
    this.request.textContent = visible(request);
  }

  call(tool, args) {
    this.tools.push(tool);
    this.steps.append(element("li", {}, element("code", {}, tool), facts(args ?? {})));
  }

  result(result) {
    const row = [...this.steps.children].find((each) => !each.dataset.over);
    if (!row) return;
    row.dataset.over = "yes";
    row.append(element("div", { class: "result", tabindex: 0, role: "group", "aria-label": "Result" }, shown(result)));
  }

  wait(isWaiting) {
    this.isWaiting = isWaiting;
    this.element.classList.toggle("waiting", isWaiting);
    this.word.textContent = isWaiting ? "waiting for you" : "working";
  }

  end(response, status, milliseconds) {
    clearInterval(this.clock);
    this.isOver = true;
    this.wait(false);
    this.element.classList.replace("working", status === "failed" ? "failed" : "done");
    this.word.textContent = ["failed", "stopped"].includes(status) ? status : "done";
    if (milliseconds !== undefined) this.time.textContent = lasted(milliseconds);
    fill(this.response, response ?? "");
  }

  fold() {
    this.details.open = false;
  }
}

/** The result of a tool: JSON as names and values, all else as it is. */
function shown(result) {
  try {
    const value = JSON.parse(result);
    const rows = Array.isArray(value) ? value : [value];
    if (result.length < 20_000 && rows.every((row) => typeof row === "object" && row !== null)) {
      return element("div", { class: "rows" }, ...rows.map(facts));
    }
  } catch {
    // no JSON: a text
  }
  return element("pre", {}, String(result));
}
