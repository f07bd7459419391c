import { describe, expect, test } from "vitest";
import { Api } from "../src/core/api";
import { difference, draftAfter, ServerDocument, spansIn, Stale } from "../src/core/document";
import type { CanvasEvent, Span } from "../src/core/protocol";
import { Offsets } from "../src/core/offsets";
import { randomly } from "./random";
import recorded from "./recorded.json";

const PIECES = ["a", "b", "\r\n", "\t", "\ufeff", "😀", "😁", "🐀"];

/** Replaces characters, as the server does. */
function replaced(text: string, start: number, end: number, inserted: string): string {
  const characters = Array.from(text);
  return [...characters.slice(0, start), inserted, ...characters.slice(end)].join("");
}

test.each(Array.from({ length: 100 }, (_, seed) => seed))(
  "difference %i leads from one text to the other",
  (seed) => {
    const random = randomly(seed);
    const some = (most: number) =>
      Array.from({ length: random(most) }, () => PIECES[random(PIECES.length)]).join("");
    const before = some(20);
    const offsets = new Offsets(before);
    const [one, other] = [random(Array.from(before).length + 1), random(Array.from(before).length + 1)];
    const after = replaced(before, Math.min(one, other), Math.max(one, other), some(4));
    const found = difference(before, after);
    if (found === null) expect(after).toBe(before);
    else {
      const [start, end] = [offsets.toCharacters(found.from), offsets.toCharacters(found.to)];
      expect(replaced(before, start, end, found.insert)).toBe(after);
    }
  },
);

test("drafts of an edit lead to its end", () => {
  const run = recorded.find(({ name }) => name === "an edit");
  const events = run?.events as unknown as CanvasEvent[];
  expect(events.reduce(draftAfter, "")).toBe(run?.text);
});

test("a patch counts characters", () => {
  const event = {
    type: "canvas.patch",
    changes: [{ chars: [2, 3], text: "X" }],
  } as unknown as CanvasEvent;
  expect(draftAfter("😀ab", event)).toBe("😀aX");
});

describe("a document", () => {
  const body = { id: "canvas_1", model: "tiny", status: "done", created: 0, seq: 1 };
  /** A server that answers in turn, and what it was asked. */
  const served = (...answers: [status: number, body: object][]) => {
    const asked: { path: string; body: unknown }[] = [];
    const api = new Api("", (path, init) => {
      asked.push({ path: path as string, body: JSON.parse((init?.body as string | null) ?? "null") });
      const [status, answer] = answers.shift() ?? [500, {}];
      return Promise.resolve(new Response(JSON.stringify(answer), { status }));
    });
    return { api, asked };
  };

  test("sends what was written by hand, in characters", async () => {
    const { api, asked } = served(
      [200, { ...body, rev: 1, text: "😀 one two" }],
      [200, { ...body, rev: 2, text: "😀 one 2" }],
    );
    const text = await ServerDocument.create(api, "tiny", "😀 one two");
    await text.sync("😀 one 2");
    expect(asked[1]).toEqual({
      path: "/v1/canvas/canvas_1/edits",
      body: { base_rev: 1, rewrite: false, replace: [{ start: 6, end: 9, text: "2" }] },
    });
    expect(text.rev).toBe(2);
    await text.sync("😀 one 2");
    expect(asked).toHaveLength(2);
  });

  test("takes the server's text where another came in between", async () => {
    const stale = { error: { message: "base_rev is 1", code: "stale_revision", rev: 3, text: "theirs" } };
    const { api } = served(
      [200, { ...body, rev: 1, text: "one" }],
      [409, stale],
      [200, { ...body, rev: 3, text: "theirs" }],
    );
    const text = await ServerDocument.create(api, "tiny", "one");
    const failure = await text.sync("mine").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Stale);
    expect((failure as Stale).text).toBe("theirs");
    expect([text.rev, text.text]).toEqual([3, "theirs"]);
  });
});

test.each(Array.from({ length: 100 }, (_, seed) => seed))("spans of text %i are found again", (seed) => {
  const random = randomly(seed);
  // No piece of what stands between spans is in what is written in them.
  const between = Array.from({ length: 1 + random(4) }, (_, i) => `<${i}\r\n😀>`);
  const fill = () => Array.from({ length: random(5) }, () => PIECES[random(PIECES.length)]).join("");
  const build = (): [string, Span[]] => {
    let text = between[0] ?? "";
    const spans: Span[] = [];
    for (const piece of between.slice(1)) {
      const inserted = fill();
      spans.push([text.length, text.length + inserted.length]);
      text += inserted + piece;
    }
    return [text, spans];
  };
  const [before, spans] = build();
  const [after, expected] = build();
  expect(spansIn(before, spans, after)).toEqual(expected);
  expect(spansIn(before, spans, `x${after}`)).toBeNull();
  expect(spansIn(before, spans, `${after}x`)).toBeNull();
});
