import { expect, test } from "vitest";
import { serverEvents, type ServerEvent } from "../src/core/sse";

const WHOLE =
  ': ping\n\nevent: canvas.done\r\nid: 3\r\ndata: {"text":\r\ndata: "é"}\r\n\r\ndata:x\n\ndata: cut off';
const EVENTS: ServerEvent[] = [
  { event: "canvas.done", id: "3", data: '{"text":\n"é"}' },
  { event: "message", id: "", data: "x" },
];

async function read(parts: Uint8Array[]): Promise<ServerEvent[]> {
  const found: ServerEvent[] = [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  for await (const event of serverEvents(body)) found.push(event);
  return found;
}

test("events are the same wherever the network cuts them", async () => {
  const bytes = new TextEncoder().encode(WHOLE);
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(await read([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(EVENTS);
  }
});
