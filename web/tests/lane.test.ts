import { expect, test } from "vitest";
import { Api } from "../src/core/api";
import { scoreSteps, shares, type Point } from "../src/core/curve";
import { judgeOf } from "../src/core/judge";
import { count, frameAt, newLane, NO_TALLY, runLane, tokensPerSecond, type Lane } from "../src/core/lane";
import type { ModelCard } from "../src/core/protocol";

const TEXT = "answer, then derive: 81*(2/3)^2+sqrt(9)";
const USAGE = { completion_tokens: 10, denoising_steps: 3 };
const card = (id: string, capabilities: string[]) =>
  ({ id, capabilities, loaded: true }) as unknown as ModelCard;

/** A server that answers with a stream, or what a body asks for. */
function serve(answer: (body: Record<string, unknown>) => string): Api {
  const fetcher = (_: unknown, init?: RequestInit) =>
    Promise.resolve(new Response(answer(JSON.parse(init?.body as string) as Record<string, unknown>)));
  return new Api("", fetcher, "");
}

const stream = (...data: unknown[]) =>
  data.map((each) => `data: ${typeof each === "string" ? each : JSON.stringify(each)}\n\n`).join("");

async function run(api: Api, lane: Lane): Promise<Lane> {
  const prompt = { text: TEXT, seed: 1, judge: judgeOf(TEXT) };
  let clock = 0;
  let last = lane;
  for await (const next of runLane(api, lane, prompt, new AbortController().signal, () => (clock += 10)))
    last = next;
  return last;
}

const event = (seq: number, more: object) => ({
  seq,
  canvas_id: "c",
  rev: 0,
  block: 0,
  step: seq,
  steps: 9,
  ...more,
});
const draft = (seq: number, text: string) =>
  event(seq, {
    type: "canvas.patch",
    changes: [{ tokens: [0, seq === 1 ? 0 : 1], chars: [0, 0], text, pieces: [text] }],
    state: ["accepted"],
    confidence: [1],
  });

test("a canvas that puts its answer right is right, but was not at first", async () => {
  const api = serve(() =>
    stream(
      draft(1, "answer: 49\n"),
      draft(2, "answer: 39\n"),
      event(3, { type: "canvas.commit", chars: [0, 11], text: "answer: 39\n" }),
      event(4, { type: "canvas.done", status: "done", text: "answer: 39\n", usage: USAGE }),
    ),
  );
  const lane = await run(api, newLane(card("tiny", ["canvas"])));
  expect(lane).toMatchObject({ status: "done", claims: ["49", "39"], isRight: true, firstMs: 30, endMs: 40 });
  expect(tokensPerSecond(lane)).toBe(250);
  expect(frameAt(lane, 25)?.view.tokens[0]?.text).toBe("answer: 39\n");
  expect(frameAt(lane, 15)?.view.tokens[0]?.text).toBe("answer: 49\n");
  const tally = count(NO_TALLY, lane, judgeOf(TEXT));
  expect(tally).toMatchObject({ races: 1, judged: 1, right: 1, rightAtFirst: 0, firstMs: [30], endMs: [40] });
});

const chunk = (content: string | undefined, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: content === undefined ? {} : { content }, finish_reason }],
});

test("a stream grows piece by piece; its first answer is its last", async () => {
  const api = serve(() =>
    stream(
      chunk(""),
      chunk("answer: 2"),
      chunk("9"),
      chunk("\n36+3 = 39"),
      chunk(undefined, "stop"),
      { choices: [], usage: USAGE },
      "[DONE]",
    ),
  );
  const lane = await run(api, newLane(card("twin", ["chat"])));
  expect(lane).toMatchObject({ status: "done", claims: ["29"], isRight: false, firstMs: 10, usage: USAGE });
});

test("a stream that breaks off is no answer, and does not count", async () => {
  const lane = await run(
    serve(() => stream(chunk("answer: 39\n"))),
    newLane(card("twin", ["chat"])),
  );
  expect([lane.status, lane.isRight]).toEqual(["failed", null]);
  expect(lane.error).toContain("ended before");
  expect(count(NO_TALLY, lane, judgeOf(TEXT))).toBe(NO_TALLY);
});

test("score against steps counts each answer at its cap", async () => {
  const api = serve((body) => {
    const { steps } = body.diffusion as { steps: number };
    const content = steps < 4 ? "answer: 0" : "answer: 39";
    return JSON.stringify({ choices: [{ message: { content } }], usage: { denoising_steps: steps } });
  });
  let points: readonly Point[] = [];
  for await (const next of scoreSteps(
    api,
    "tiny",
    [TEXT, TEXT, TEXT],
    new AbortController().signal,
    [2, 4],
  )) {
    points = next;
  }
  expect(points).toEqual([
    { cap: 2, asked: 3, right: 0, steps: 6 },
    { cap: 4, asked: 3, right: 3, steps: 12 },
  ]);
  expect(shares(points).values).toEqual([0, 100]);
  expect(shares([{ cap: 1, asked: 0, right: 0, steps: 0 }]).low).toEqual([null]);
});
