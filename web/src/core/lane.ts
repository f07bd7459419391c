/** One model on its way through a prompt, with true clocks: from the page's request to what the page received. */
import { grow, type Question } from "./answer";
import type { Api } from "./api";
import { applyEvent, emptyView, textOf, type CanvasView } from "./canvas";
import type { Judge } from "./judge";
import type { ModelCard, Usage } from "./protocol";

/** What was there at a time after the start. */
export interface Frame {
  readonly atMs: number;
  readonly view: CanvasView;
}

export interface Lane {
  readonly model: string;
  /** Whether its text is revised in place; otherwise it grows at its end. */
  readonly isCanvas: boolean;
  readonly status: "ready" | "running" | "done" | "stopped" | "failed";
  readonly frames: readonly Frame[];
  readonly firstMs: number | null;
  readonly endMs: number | null;
  readonly usage: Partial<Usage>;
  /** The answers that stood there one after the other; the last one is the final one, or null if it states none. */
  readonly claims: readonly (string | null)[];
  readonly isRight: boolean | null;
  readonly error: string | null;
}

export interface Prompt {
  readonly text: string;
  readonly seed: number;
  readonly judge: Judge | null;
}

export function newLane(card: ModelCard): Lane {
  return {
    model: card.id,
    isCanvas: card.capabilities.includes("canvas"),
    status: "ready",
    frames: [],
    firstMs: null,
    endMs: null,
    usage: {},
    claims: [],
    isRight: null,
    error: null,
  };
}

/** Has the server open a model, so that no race waits for its weights. What it refuses, the race shows. */
export async function warm(api: Api, card: ModelCard, prompt: string, signal: AbortSignal): Promise<void> {
  if (card.loaded) return;
  const messages = [{ role: "user", content: prompt }];
  const asked = { model: card.id, messages, max_tokens: 1 };
  try {
    await api.json("POST", "/v1/chat/completions", asked, signal);
  } catch (error) {
    if (signal.aborted) throw error;
  }
}

/** The lane after each thing that its model said; the last one is complete. Throws nothing but a stop. */
export async function* runLane(
  api: Api,
  lane: Lane,
  prompt: Prompt,
  signal: AbortSignal,
  now: () => number = () => performance.now(),
): AsyncGenerator<Lane> {
  const start = now();
  const claims: (string | null)[] = [];
  let next: Lane = { ...lane, status: "running", frames: [{ atMs: 0, view: emptyView("") }] };
  yield next;
  try {
    let view = emptyView("");
    for await (const event of lane.isCanvas
      ? api.stream({ model: lane.model, prompt: prompt.text, seed: prompt.seed, every_step: true }, signal)
      : grow(api, questionOf(lane, prompt), signal)) {
      const atMs = now() - start;
      view = applyEvent(view, event);
      const isComplete = view.status !== "running";
      const claim = prompt.judge?.claim(textOf(view), isComplete) ?? null;
      if ((claim !== null || isComplete) && claim !== claims.at(-1)) claims.push(claim);
      next = {
        ...next,
        frames: [...next.frames, { atMs, view }],
        firstMs: next.firstMs ?? (view.committed > 0 ? atMs : null),
        usage: view.ending.usage ?? next.usage,
        claims: [...claims],
      };
      yield next;
    }
    const said = claims.at(-1) ?? null;
    const isDone = view.status === "done";
    const isRight = prompt.judge === null || !isDone ? null : said !== null && prompt.judge.isRight(said);
    const error = isDone ? null : (view.ending.error?.message ?? "the stream ended before the answer did");
    yield {
      ...next,
      status: isDone ? "done" : "failed",
      endMs: next.frames.at(-1)?.atMs ?? 0,
      isRight,
      error,
    };
  } catch (error) {
    const status = signal.aborted ? "stopped" : "failed";
    const said = error instanceof Error ? error.message : String(error);
    yield { ...next, status, endMs: now() - start, error: signal.aborted ? null : said };
  }
}

function questionOf({ model }: Lane, { text, seed }: Prompt): Question {
  return { model, messages: [{ role: "user", content: text }], seed };
}

/** What was to be seen at a time; without one, what is to be seen now. */
export function frameAt(lane: Lane, atMs: number | null): Frame | undefined {
  if (atMs === null) return lane.frames.at(-1);
  return lane.frames.findLast((frame) => frame.atMs <= atMs) ?? lane.frames[0];
}

/** Tokens of the answer in a second of its whole time; null if they were not counted. */
export function tokensPerSecond({ usage, endMs }: Lane): number | null {
  const { completion_tokens: count } = usage;
  return count === undefined || endMs === null || endMs === 0 ? null : (count * 1000) / endMs;
}

/** Races so far, for a model. */
export interface Tally {
  readonly races: number;
  readonly judged: number;
  readonly right: number;
  /** Right with the first answer that stood there. */
  readonly rightAtFirst: number;
  readonly firstMs: readonly number[];
  readonly endMs: readonly number[];
}

export const NO_TALLY: Tally = { races: 0, judged: 0, right: 0, rightAtFirst: 0, firstMs: [], endMs: [] };

/** With one lane more; a race that was stopped or failed does not count. */
export function count(tally: Tally, lane: Lane, judge: Judge | null): Tally {
  if (lane.status !== "done") return tally;
  const first = lane.claims[0] ?? null;
  const isRightAtFirst = first !== null && judge !== null && judge.isRight(first);
  return {
    races: tally.races + 1,
    judged: tally.judged + (lane.isRight === null ? 0 : 1),
    right: tally.right + (lane.isRight === true ? 1 : 0),
    rightAtFirst: tally.rightAtFirst + (isRightAtFirst ? 1 : 0),
    firstMs: lane.firstMs === null ? tally.firstMs : [...tally.firstMs, lane.firstMs],
    endMs: lane.endMs === null ? tally.endMs : [...tally.endMs, lane.endMs],
  };
}
