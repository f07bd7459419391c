import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Api, ApiError } from "../src/core/api";
import { applyEvent, emptyView, textOf } from "../src/core/canvas";
import type { CanvasEvent, Span } from "../src/core/protocol";
import { again, outside, overlap, pinnedIn, rewritten, shifted, spanOf, takeOf } from "../src/core/take";
import { current, go, held, noSteps, push, type Steps } from "../src/core/steps";
import { newTrace, readTraces } from "../src/core/trace";
import { isShareable, readShared, requestOf, sharedHash, sharedOf } from "../src/core/share";
import recorded from "./recorded.json";

const runs = recorded as unknown as { name: string; text: string; events: CanvasEvent[] }[];
const SEEDS = 300;

/** Numbers from 0 to 1, by mulberry32. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A server whose connections break, lose events, and tell of some twice or in another order. */
function faulty(events: readonly CanvasEvent[], seed: number): typeof fetch {
  const draw = random(seed);
  return (input) => {
    const after = Number(/after=(\d+)/.exec(input as string)?.[1] ?? 0);
    if (draw() < 0.2) return Promise.reject(new TypeError("connection refused"));
    const sent: CanvasEvent[] = [];
    for (const event of events.filter(({ seq }) => seq > after)) {
      if (draw() < 0.1) continue;
      sent.push(event);
      if (draw() < 0.1) sent.push(event);
    }
    for (let i = 1; i < sent.length; i++) {
      const [one, other] = [sent[i - 1], sent[i]];
      if (draw() < 0.1 && one !== undefined && other !== undefined) [sent[i - 1], sent[i]] = [other, one];
    }
    const text = sent.map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    const cut = draw() < 0.5 ? text.length : Math.floor(draw() * text.length);
    return Promise.resolve(new Response(text.slice(0, cut)));
  };
}

beforeEach(() => {
  vi.stubGlobal("setTimeout", (done: () => void) => {
    queueMicrotask(done);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each(runs)("$name", ({ events, text }) => {
  const first = events[0]?.seq ?? 1;

  test("is whole over connections that break, repeat and reorder", async () => {
    let whole = 0;
    for (let seed = 0; seed < SEEDS; seed++) {
      let view = emptyView("c");
      const seen: number[] = [];
      try {
        for await (const event of new Api("", faulty(events, seed)).follow("c", { after: first - 1 })) {
          seen.push(event.seq);
          view = applyEvent(view, event);
        }
      } catch {
        // Too many failures in a row are told; nothing wrong is shown.
        expect(view.status).toBe("running");
        continue;
      }
      whole++;
      expect(textOf(view)).toBe(text);
      expect(view.status).toBe("done");
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
    }
    expect(whole).toBeGreaterThan(0.9 * SEEDS);
  });
});

const [run] = runs;

test("a take is what its traces add up to, and can be written into", () => {
  const take = takeOf([newTrace("tiny", { prompt: "p", seed: 3 }, run?.events)]);
  const last = take.frames.at(-1);
  expect(take.seed).toBe(3);
  expect(last?.tokens.map(({ text }) => text).join("")).toBe(run?.text);
  const changed = rewritten(take, { from: 1, to: 3, text: "41" }).frames.at(-1);
  expect(changed?.tokens.map(({ text }) => text).join("")).toMatch(/^answer: 41\n/);
  expect(changed?.tokens[1]?.history.at(-1)?.text).toBe("41");
});

test("what stays of a text is told in characters", () => {
  const request = { model: "m", prompt: "p", seed: 1 };
  expect(
    again(
      request,
      "a😀b",
      [
        [0, 0],
        [3, 4],
      ],
      9,
    ),
  ).toEqual({
    ...request,
    text: "a😀b",
    pins: [[2, 3]],
    seed: 9,
  });
  expect(
    outside(
      [
        [4, 6],
        [1, 2],
      ],
      9,
    ),
  ).toEqual([
    [0, 1],
    [2, 4],
    [6, 9],
  ]);
  const tokens = ["ab", "", "c", "de"].map((text) => ({ text })) as unknown as Parameters<typeof spanOf>[0];
  expect(spanOf(tokens, 1, 3)).toEqual([2, 3]);
  expect([...pinnedIn(tokens, [[1, 3]])]).toEqual([0, 2]);
  expect(overlap([0, 2], [2, 4])).toBe(false);
});

test("a link says what was asked for, and nothing else runs", () => {
  const shared = {
    model: "tiny",
    prompt: "fix – “this” 😀",
    seed: 7,
    count: 2,
    options: { steps: 4 },
    turns: [],
  };
  expect(readShared(sharedHash(shared))).toEqual(shared);
  const long = { ...shared, prompt: "1+".repeat(200_000) };
  expect(readShared(sharedHash(long))).toEqual(long);
  for (const bad of ["", "#", "#x", "#bnVsbA", "#e30", "#%%%", `#${btoa('{"model":1,"prompt":"p"}')}`]) {
    expect(readShared(bad)).toBeNull();
  }
});

test("a request and what a link says of it", () => {
  const turns = [
    { role: "user" as const, content: "a" },
    { role: "assistant" as const, content: "b" },
  ];
  const shared = { model: "tiny", prompt: "c", seed: 7, count: 2, options: { steps: 4 }, turns };
  expect(requestOf(shared).messages).toHaveLength(3);
  for (const each of [shared, { ...shared, turns: [] }]) {
    expect(sharedOf(requestOf(each), 2)).toEqual(each);
    expect(isShareable(requestOf(each))).toBe(true);
  }
  expect(isShareable({ ...requestOf(shared), schema: {} })).toBe(false);
});

test("a take knows whether it is more than what its request gives", () => {
  const trace = newTrace("tiny", { prompt: "1+1=" });
  expect(takeOf([trace]).isEdited).toBe(false);
  expect(takeOf([trace, trace]).isEdited).toBe(true);
  expect(rewritten(takeOf([trace]), { from: 0, to: 0, text: "3" }).isEdited).toBe(true);
});

test("an error leaves out examples for terminals", () => {
  const message =
    "tiny was not trained on prompts like 'x'; allowed, for example:\n  plain: 12+5=\nto ask anyway: y";
  expect(new ApiError(400, { message }).message).toBe("tiny was not trained on prompts like 'x'.");
  expect(new ApiError(400, { message: "steps is 0; allowed: 1 to 9" }).message).toBe(
    "steps is 0; allowed: 1 to 9",
  );
});

test("an export keeps what was written and pinned", () => {
  const take = takeOf([newTrace("tiny", { prompt: "p", seed: 3 }, run?.events)]);
  const changed = rewritten(take, { from: 1, to: 3, text: "41" });
  const [last] = changed.traces;
  const opened = readTraces(JSON.stringify([{ ...last, pins: [[0, 4]] }]));
  expect(opened[0]?.pins).toEqual([[0, 4]]);
  expect(takeOf(opened).frames).toEqual(changed.frames);
  expect(takeOf(opened).isEdited).toBe(true);
  for (const wrong of [{ writes: [{ from: 2, to: 1, text: "" }] }, { pins: [[1]] }, { pins: 3 }])
    expect(() => readTraces(JSON.stringify([{ ...last, ...wrong }]))).toThrow("its writes or pins");
});

test("pins move with the text before them", () => {
  const pins: Span[] = [
    [0, 2],
    [3, 5],
    [8, 9],
  ];
  expect(shifted(pins, [3, 4], 3)).toEqual([
    [0, 2],
    [10, 11],
  ]);
});

test("changes are undone and done again", () => {
  // A value is kept before each change, as the page does.
  const change = (steps: Steps<number>, now: number) => push(held(steps, now), now);
  const move = (steps: Steps<number>, by: number, now: number) => go(held(steps, now), by);
  expect(current(move(noSteps(), -1, 0))).toBe(0);
  let steps = change(change(noSteps(), 0), 1);
  expect(current((steps = move(steps, -1, 2)))).toBe(1);
  expect(current((steps = move(steps, -1, 1)))).toBe(0);
  expect(steps.at).toBe(0);
  expect(current((steps = move(steps, 1, 0)))).toBe(1);
  expect(current(move(steps, 1, 1))).toBe(2);
  steps = change(steps, 1);
  expect(steps.at).toBe(steps.all.length - 1);
});
