/** Answers as they are written, whether their model revises a canvas or adds to the end of a text. */
import { ApiError, type Api } from "./api";
import { applyEvent, emptyView, textOf, type CanvasView } from "./canvas";
import type { CanvasEvent, Message, ModelCard, Usage } from "./protocol";

export interface Answer {
  readonly text: string;
  /** Such as "stop", or "length" where the model had more to say. */
  readonly reason: string;
  readonly usage: Usage | null;
}

/** The whole answer of a canvas; `onView` gets each step to it. Throws ApiError. */
export async function answerOf(
  events: AsyncIterable<CanvasEvent>,
  onView: (view: CanvasView) => void,
): Promise<Answer> {
  let view = emptyView("");
  for await (const event of events) {
    view = applyEvent(view, event);
    onView(view);
  }
  const { error, usage, finish_reason: reason } = view.ending;
  if (view.status !== "done") throw new ApiError(0, error ?? { message: "the answer was broken off" });
  return { text: textOf(view), reason: reason ?? "stop", usage: usage ?? null };
}

export interface Question {
  readonly model: string;
  readonly messages: Message[];
  readonly seed: number;
  readonly max_tokens?: number;
}

/** What a model answers, as events of a canvas. */
export function ask(
  api: Api,
  card: ModelCard,
  question: Omit<Question, "model">,
  signal: AbortSignal,
): AsyncGenerator<CanvasEvent> {
  const asked = { ...question, model: card.id };
  return card.capabilities.includes("canvas") ? api.stream(asked, signal) : grow(api, asked, signal);
}

/** A conversation's stream as events of a canvas that only grows. */
export async function* grow(api: Api, question: Question, signal: AbortSignal): AsyncGenerator<CanvasEvent> {
  const base = { canvas_id: "", rev: 0 };
  let [seq, text] = [0, ""];
  let usage: Usage | undefined;
  let reason: string | null = null;
  for await (const chunk of api.chat({ ...question }, signal)) {
    usage = chunk.usage ?? usage;
    const [choice] = chunk.choices;
    reason = choice?.finish_reason ?? reason;
    const piece = choice?.delta.content ?? "";
    if (piece === "") continue;
    const chars: [number, number] = [text.length, text.length + piece.length];
    text += piece;
    yield { ...base, seq: seq++, type: "canvas.commit", block: seq, chars, text: piece };
  }
  // A stream that breaks off may end like one that is complete; only the reason tells.
  if (reason === null) return;
  const ending = usage === undefined ? {} : { usage };
  yield { ...base, seq: seq++, type: "canvas.done", status: "done", text, finish_reason: reason, ...ending };
}
