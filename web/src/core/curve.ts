/** Score against steps: the same expressions, answered under several caps on the steps. */
import type { Api } from "./api";
import { drawExpression } from "./arithmetic";
import { wilson } from "./intervals";
import { judgeOf } from "./judge";
import type { Usage } from "./protocol";

export const CAPS: readonly number[] = [1, 2, 4, 8, 16, 32];
/** Asked at once; the engine puts them into one batch. */
const AT_ONCE = 4;

export interface Point {
  readonly cap: number;
  readonly asked: number;
  readonly right: number;
  /** Denoising steps that the answers took. */
  readonly steps: number;
}

/** Prompts of a task with an answer that can be checked. */
export function drawPrompts(count: number, isAnswerFirst: boolean): string[] {
  const start = isAnswerFirst ? "answer, then derive: " : "derive, then answer: ";
  return Array.from({ length: count }, () => start + drawExpression());
}

/**
 * Asks a model every prompt under every cap; tells of the points after each answer. Every cap is asked the first
 * prompt before any is asked the second, so the curve has its shape from the start.
 */
export async function* scoreSteps(
  api: Api,
  model: string,
  prompts: readonly string[],
  signal: AbortSignal,
  caps: readonly number[] = CAPS,
): AsyncGenerator<readonly Point[]> {
  let points: readonly Point[] = caps.map((cap) => ({ cap, asked: 0, right: 0, steps: 0 }));
  const left = prompts.flatMap((prompt, item) => caps.map((_, at) => ({ prompt, item, at })));
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const ask = async (): Promise<void> => {
    const next = left.shift();
    const [point, judge] = [points[next?.at ?? 0], judgeOf(next?.prompt ?? "")];
    if (next === undefined || point === undefined || judge === null) return;
    const body = {
      model,
      messages: [{ role: "user", content: next.prompt }],
      seed: next.item,
      diffusion: { steps: point.cap },
    };
    const answer = await api.json<Answer>("POST", "/v1/chat/completions", body, both);
    const claim = judge.claim(answer.choices[0]?.message.content ?? "", true);
    points = points.map((old, at) =>
      at !== next.at
        ? old
        : {
            ...old,
            asked: old.asked + 1,
            right: old.right + (claim !== null && judge.isRight(claim) ? 1 : 0),
            steps: old.steps + answer.usage.denoising_steps,
          },
    );
  };
  const pending = new Map<number, Promise<number>>();
  try {
    for (let asked = 0; left.length > 0 || pending.size > 0;) {
      while (left.length > 0 && pending.size < AT_ONCE) {
        const id = asked++;
        pending.set(
          id,
          ask().then(() => id),
        );
      }
      pending.delete(await Promise.race(pending.values()));
      yield points;
    }
  } finally {
    stop.abort();
    await Promise.allSettled(pending.values());
  }
}

interface Answer {
  choices: { message: { content: string | null } }[];
  usage: Usage;
}

/** Per cent right of the points, and the 95% interval of each; null where nothing was asked yet. */
export function shares(points: readonly Point[]): {
  name: string;
  values: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
} {
  const of = (pick: (point: Point) => number) =>
    points.map((point) => (point.asked === 0 ? null : 100 * pick(point)));
  return {
    name: "right",
    values: of(({ right, asked }) => right / asked),
    low: of(({ right, asked }) => wilson(right, asked)[0]),
    high: of(({ right, asked }) => wilson(right, asked)[1]),
  };
}
