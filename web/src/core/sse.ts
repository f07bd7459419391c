/** Server-sent events out of a response's body. `EventSource` cannot send a key, so it is read by hand. */
export interface ServerEvent {
  event: string;
  id: string;
  data: string;
}

/** The events of a stream, in order; comments are left out. Lines may end in LF, CR LF or CR. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = "";
  let event = { event: "message", id: "", data: [] as string[] };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      // A CR at the end may be half of a line's end.
      const lines = (rest + (value ?? "")).split(done ? /\r\n|\r|\n/ : /\r\n|\r(?!$)|\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (event.data.length > 0) yield { ...event, data: event.data.join("\n") };
          event = { event: "message", id: "", data: [] };
          continue;
        }
        const [, name, content] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (name === "data") event.data.push(content ?? "");
        else if (name === "event") event.event = content ?? "";
        else if (name === "id") event.id = content ?? "";
      }
      if (done) return;
    }
  } finally {
    // When reading stops, the request ends.
    await reader.cancel().catch(() => undefined);
  }
}
