// Events of a turn over HTTP: read as they come, and read on after the connection or the server was lost.

/** An answer of the server that is not a stream: its status, what it says, and when to come again (seconds). */
export class Refused extends Error {
  constructor(status, message, after) {
    super(message);
    this.status = status;
    this.after = after;
  }

  /** Whether the server is only not there yet, or not any more: it is worth asking again. */
  get isPassing() {
    return [502, 503, 504].includes(this.status);
  }
}

/** Ask for JSON. Raises Refused if the server says no, and TypeError if it cannot be reached. */
export async function ask(url, { method = "GET", body, headers = {} } = {}) {
  const response = await fetch(url, {
    method,
    credentials: "same-origin",
    headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw await refusal(response);
  return response.status === 204 ? null : await response.json().catch(() => null);
}

/**
 * Follow a turn to its end. `open(cursor)` requests the stream, after a cursor if there is one; it is called again
 * whenever the stream ends early. `hear(name, data)` gets each event; `lost(isLost)` is told of the connection.
 * It ends with `signal`. Returns the name of the last event ("done", "error"), or null if the server had nothing more to tell.
 */
export async function follow({ open, hear, lost, signal }) {
  let cursor = null;
  for (let attempt = 0; ; attempt = Math.min(attempt + 1, 5)) {
    try {
      const response = await open(cursor);
      if (response.status === 204) return null;
      if (!response.ok) throw await refusal(response);
      lost(false, cursor);
      for await (const event of events(response.body)) {
        attempt = 0;
        if (event.id !== null) cursor = event.id;
        hear(event.name, event.data);
        if (event.name === "done" || event.name === "error") return event.name;
      }
    } catch (error) {
      if (signal.aborted) return null;
      if (error instanceof Refused && !error.isPassing) throw error;
    }
    lost(true, cursor);
    await new Promise((wake) => setTimeout(wake, 300 * 2 ** Math.min(attempt, 3)));
  }
}

/** The events of a body: name, data (parsed), id (null if there is none). */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = { name: "message", data: "", id: null };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (event.data !== "") yield { ...event, data: JSON.parse(event.data) };
        event = { name: "message", data: "", id: null };
        continue;
      }
      const [, field, text] = /^([^:]*):? ?([^]*)$/.exec(line);
      if (field === "event") event.name = text;
      else if (field === "id") event.id = text;
      else if (field === "data") event.data += (event.data && "\n") + text;
    }
  }
}

async function refusal(response) {
  const told = await response.json().catch(() => null);
  const error = told?.error ?? {};
  const details = (error.details ?? []).map((detail) => `${detail.field}: ${detail.message}`).join("; ");
  const message = [error.message ?? `The server answered with status ${response.status}.`, error.hint, details];
  return new Refused(response.status, message.filter(Boolean).join(": "), Number(response.headers.get("retry-after")) || null);
}
