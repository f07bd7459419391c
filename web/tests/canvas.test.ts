import { describe, expect, test } from "vitest";
import { applyEvent, emptyView, historyOf, textOf, wordAt, type Token } from "../src/core/canvas";
import type { CanvasEvent } from "../src/core/protocol";
import recorded from "./recorded.json";

const runs = recorded as unknown as { name: string; text: string; events: CanvasEvent[] }[];

const viewOf = (events: CanvasEvent[]) => events.reduce(applyEvent, emptyView("c"));

describe.each(runs)("$name", ({ events, text }) => {
  test("its events add up to the text", () => {
    const view = viewOf(events);
    expect(textOf(view)).toBe(text);
    expect(view.status).toBe("done");
    expect(view.tokens.every((token) => token.state === "committed")).toBe(true);
  });

  test("events that come twice change nothing", () => {
    const twice = events.flatMap((event) => [event, event]);
    expect(viewOf(twice)).toEqual(viewOf(events));
  });

  test("after every event the draft is as long as what the server told", () => {
    let view = emptyView("c");
    for (const event of events) {
      view = applyEvent(view, event);
      if (event.type === "canvas.patch" && event.state.length > 0) {
        expect(view.tokens.length - view.committed).toBe(event.state.length);
        for (const change of event.changes) {
          if (change.tokens !== undefined) expect(textOf(view)).toContain(change.text);
        }
      }
    }
  });
});

test("a position keeps what stood there", () => {
  const base = { canvas_id: "c", rev: 0, block: 0, steps: 3, confidence: [0.5] };
  const view = viewOf([
    {
      ...base,
      seq: 1,
      type: "canvas.snapshot",
      status: "running",
      text: "60",
      committed: 0,
      step: 0,
      pieces: ["60"],
    },
    {
      ...base,
      seq: 2,
      type: "canvas.patch",
      step: 1,
      changes: [{ tokens: [0, 1], chars: [0, 2], text: "49", pieces: ["49"] }],
      state: ["accepted"],
    },
    {
      ...base,
      seq: 3,
      type: "canvas.patch",
      step: 2,
      changes: [{ tokens: [0, 1], chars: [0, 2], text: "39", pieces: ["39"] }],
      state: ["revised"],
    },
  ]);
  expect(view.tokens[0]?.history.map(({ text }) => text)).toEqual(["60", "49", "39"]);
  expect(view.tokens[0]?.revisions).toBe(1);
});

test("a patch of characters leaves the tokens beside it", () => {
  const base = { canvas_id: "c", rev: 1, block: 0 };
  const view = viewOf([
    {
      ...base,
      seq: 1,
      type: "canvas.snapshot",
      status: "done",
      text: "one two",
      committed: 7,
      step: 0,
      pieces: [],
    },
    {
      ...base,
      seq: 2,
      type: "canvas.patch",
      step: 1,
      steps: 1,
      changes: [{ chars: [4, 7], text: "three" }],
      state: [],
      confidence: [],
    },
  ]);
  expect(view.tokens.map(({ text }) => text)).toEqual(["one ", "three"]);
});

test("a draft that gets longer or shorter has no holes", () => {
  const base = { canvas_id: "c", rev: 0, block: 0, steps: 9 };
  const patch = (seq: number, tokens: [number, number], pieces: string[], length: number): CanvasEvent => ({
    ...base,
    seq,
    type: "canvas.patch",
    step: seq,
    changes: [{ tokens, chars: [0, 0], text: pieces.join(""), pieces }],
    state: Array<"noise">(length).fill("noise"),
    confidence: Array<number>(length).fill(0.5),
  });
  const grown = viewOf([patch(1, [0, 0], ["a", "b", "c"], 3), patch(2, [1, 3], ["B", "C", "D"], 4)]);
  expect(textOf(grown)).toBe("aBCD");
  expect(grown.tokens.map(({ history }) => history.length)).toEqual([1, 2, 2, 1]);
  expect(textOf(applyEvent(grown, patch(3, [1, 4], ["z"], 2)))).toBe("az");
});

test("a number of several tokens has one history", () => {
  const token = (...history: [number, string][]): Token => ({
    text: history.at(-1)?.[1] ?? "",
    state: "committed",
    confidence: null,
    entropy: null,
    since: history.at(-1)?.[0] ?? 0,
    revisions: history.length - 1,
    history: history.map(([step, text]) => ({ step, text })),
  });
  const tokens = [
    token([1, "answer: "]),
    token([1, "6"], [4, "4"], [7, "3"]),
    token([2, "0"], [4, "9"]),
    token([3, "\n"]),
  ];
  expect(wordAt(tokens, 2)).toEqual([tokens[1], tokens[2]]);
  expect(historyOf(wordAt(tokens, 1))).toBe("60 → 49 → 39");
  expect(historyOf(wordAt(tokens, 0))).toBe("answer: ");
  expect(historyOf(wordAt(tokens, 3))).toBe("\\n");
});
