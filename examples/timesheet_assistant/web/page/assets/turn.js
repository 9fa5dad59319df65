// One message and its answer: the stages as they end, the scorecard of each attempt, the parts as they go out.
import { element, visible } from "../chat/text.js";
import { part } from "./parts.js";

const STAGES = { analyze: "plan", data: "look up", compose: "write", single: "answer alone", "check/prepare": "format", "check/judge": "judge", "check/refine": "refine", apologize: "apologize", send: "send" };
const ENDS = { failed: "Not answered: the run has failed.", cancelled: "Cancelled.", dead: "Not answered: the run has failed for good." };

export class Turn {
  /** `message` is null until the run tells it; `say(text)` is read out by screen readers. */
  constructor(channel, message, { say }) {
    this.channel = channel;
    this.speak = say;
    this.state = {};
    this.sent = 0; // parts that have gone out
    this.isOver = false;
    this.stages = element("ol", { class: "stages", "aria-label": "Stages" });
    this.cards = element("div", { class: "attempts" });
    this.parts = element("div", { class: "parts" });
    this.note = element("p", { class: "meta" });
    this.request = element("div", { class: "request", dir: "auto" });
    this.element = element("article", { class: "turn" }, this.request, this.stages, this.cards, this.parts, this.note);
    this.ask(message);
    this.stage("waiting", "working");
  }

  ask(message) {
    if (message === null || this.request.childElementCount) return;
    this.request.append(element("span", { class: "unseen" }, "You: "), element("span", {}, visible(message)));
  }

  /** One event of the run's stream. */
  hear(name, data) {
    if (name === "state") this.take(data.state, data.next);
    if (name === "step") this.take(data.changed, data.next, data.step);
    if (name === "told" && String(data.place).startsWith("send")) this.arrived(data.what?.sequence);
    if (name === "wait") this.tell(`Waits for a person: ${visible(data.name)}`);
    if (name === "end") this.end(data.status, data.error?.message);
  }

  /** What a step has changed, and which one is next. */
  take(changed, next, step = null) {
    Object.assign(this.state, changed);
    if (step) this.stage(step, step === "check/judge" && !this.passed() ? "failed" : "done");
    this.ask(this.state.request?.message ?? null);
    if (this.state.checked) this.judged(this.state.checked);
    if (this.state.delivered) this.arrived(this.state.formatted?.parts.length);
    if (next) this.stage(next, "working");
  }

  stage(step, how) {
    this.stages.querySelectorAll(".working").forEach((each) => each.remove());
    const word = step === "waiting" ? "waiting" : STAGES[step];
    if (!word || this.isOver) return;
    const shown = element("li", { class: how }, word);
    if (how === "working") shown.append(element("span", { class: "unseen" }, ", under way"));
    this.stages.append(shown);
  }

  passed() {
    return this.state.checked?.attempts?.at(-1)?.validation?.passed ?? true;
  }

  /** The scorecards so far, each as a card that can be opened; a failed one is open. */
  judged(checked) {
    for (const attempt of (checked.attempts ?? []).slice(this.cards.childElementCount)) {
      this.cards.append(scorecard(attempt, this.cards.childElementCount + 1));
      const failed = attempt.scorecard.criteria.filter((each) => each.passed === false);
      this.speak(failed.length ? `Failed: ${failed.map((each) => each.description).join("; ")}` : "All criteria passed.");
    }
  }

  /** So many parts have gone out: they are shown in order. */
  arrived(number = 0) {
    const parts = this.state.formatted?.parts ?? [];
    for (; this.sent < Math.min(number, parts.length); this.sent++) {
      const shown = part(this.channel, parts[this.sent]);
      this.parts.append(shown);
      this.speak(`${this.channel}: ${parts[this.sent].content}`);
    }
  }

  tell(text) {
    this.note.textContent = text;
  }

  end(status, error) {
    this.isOver = true;
    this.stages.querySelectorAll(".working").forEach((each) => each.remove());
    const { result } = this.state;
    if (result) this.recall(result);
    if (!result) return this.tell(`${ENDS[status] ?? "Not answered."} ${error ? visible(error) : ""}`);
    if (!result.metadata.delivered) this.unsent();
    else this.arrived(result.formatted_response.parts.length);
    return this.note.replaceChildren(...facts(result).map(([text, kind]) => element("span", { class: kind ? `badge ${kind}` : "" }, text)));
  }

  /** All stages, also those that ended before anybody listened. */
  recall({ metadata, graceful_failure: apology }) {
    const took = Object.keys(metadata.stage_times);
    const attempts = this.state.checked?.attempts ?? [];
    const checks = attempts.flatMap((each, number) => [number ? "check/refine" : "check/prepare", each.validation.passed ? "check/judge" : "!check/judge"]);
    const asked = metadata.path === "single" ? ["single"] : ["analyze", "data", "compose"].filter((each) => took.includes(each));
    const steps = [...asked, ...checks, ...(apology ? ["apologize"] : []), ...(metadata.delivered ? ["send"] : [])];
    this.stages.replaceChildren(...steps.map((each) => element("li", { class: each.startsWith("!") ? "failed" : "done" }, STAGES[each.replace("!", "")])));
  }

  unsent() {
    const parts = this.state.formatted?.parts ?? [];
    for (const each of parts.slice(this.sent)) {
      const shown = part(this.channel, each);
      shown.classList.add("unsent");
      shown.prepend(element("p", { class: "why" }, "Not sent"));
      this.parts.append(shown);
    }
  }
}

function scorecard(attempt, number) {
  const { criteria } = attempt.scorecard;
  const failed = criteria.filter((each) => each.passed === false).length;
  const open = criteria.filter((each) => each.passed === null).length;
  const name = number === 1 ? "First attempt" : "Refined";
  const word = failed ? `${failed} of ${criteria.length} criteria failed` : open ? `${open} of ${criteria.length} not decided` : `${criteria.length} of ${criteria.length} criteria passed`;
  const badge = element("span", { class: `badge ${failed ? "is-bad" : open ? "is-warn" : "is-good"}` }, word);
  const rows = criteria.map((each) => {
    const [sign, how] = each.passed === null ? ["?", "open"] : each.passed ? ["✓", "passed"] : ["✗", "failed"];
    const said = element("div", {}, element("b", {}, visible(each.id)), element("span", { class: "what" }, visible(each.description)));
    if (each.feedback) said.append(element("p", { class: "feedback" }, visible(each.feedback)));
    return element("li", { class: how }, element("span", { class: "sign", "aria-label": how, role: "img" }, sign), said);
  });
  const text = element("details", { class: "judged" }, element("summary", {}, "The text that was judged"), element("pre", { tabindex: 0 }, visible(attempt.text)));
  return element("details", { class: "attempt", open: failed > 0 }, element("summary", {}, element("b", {}, name), badge), element("ul", {}, ...rows), text);
}

/** What is worth knowing of an answer, as badges and words. */
function facts(result) {
  const { metadata, formatted_response: response } = result;
  const { segments, size, is_summary: isSummary, is_cut: isCut, fell_back: fellBack } = response.metadata;
  const review = metadata.needs_review && ["for review", "is-warn"];
  return [
    result.graceful_failure && ["apology", "is-bad"],
    result.graceful_failure && metadata.reason && [visible(metadata.reason).slice(0, 160)],
    !metadata.delivered && ["not sent", "is-bad"],
    result.validation_passed && [result.refinement_attempted ? "passed after refinement" : "passed", "is-good"],
    metadata.path === "single" && ["unchecked", "is-warn"],
    review,
    response.is_split && [`${response.parts.length} parts`],
    segments && [`${segments.count} ${segments.count === 1 ? "segment" : "segments"} in ${segments.encoding}`],
    size && [`card of ${(size / 1024).toFixed(1)} KB`],
    isSummary && ["a summary", "is-warn"],
    isCut && ["cut", "is-warn"],
    fellBack && ["plain text in place of the format", "is-warn"],
    [`style ${metadata.style_version}`],
    [`${metadata.llm_calls} model calls`],
    [`${(metadata.duration_ms / 1000).toFixed(1)} s`],
  ].filter(Boolean);
}
