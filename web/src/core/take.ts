/** Takes: a text from a prompt, and what was done to it afterwards, each a canvas of its own. Values, never changed in
 * place. */
import type { Api } from "./api";
import { applyEvent, emptyView, type CanvasView, type Token } from "./canvas";
import { Offsets } from "./offsets";
import type { CanvasEvent, CanvasRequest, Span } from "./protocol";
import { newTrace, viewsOf, withView, written, type Trace, type Write } from "./trace";

export interface Take {
  readonly seed: number;
  readonly status: "running" | "done" | "stopped" | "failed";
  /** What was asked for, and what came of it, the newest last. */
  readonly traces: readonly Trace[];
  /** What there was to see after each step. */
  readonly frames: readonly CanvasView[];
  readonly error: string | null;
  /** Whether its text is more than what came of its first request. */
  readonly isEdited: boolean;
}

export function newTake(seed: number): Take {
  return { seed, status: "running", traces: [], frames: [], error: null, isEdited: false };
}

/** The last frame. */
export function latest(take: Take): CanvasView {
  return take.frames.at(-1) ?? emptyView("");
}

/** How many steps led to a frame, or to the last one; the noise that they start with is none. */
export function stepsAt(frames: readonly CanvasView[], at = frames.length - 1): number {
  return frames.slice(0, at + 1).filter(({ step }) => step > 0).length;
}

/** "1 token", "3 tokens". */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function stepsText(count: number): string {
  return countText(count, "step");
}

/** A take that is seen again. */
export function takeOf(traces: readonly Trace[]): Take {
  const frames = traces.flatMap(viewsOf);
  const [first] = traces;
  const ending = first === undefined ? undefined : viewsOf(first).at(-1)?.ending;
  const seed = first?.request.seed ?? ending?.seed ?? 0;
  const isEdited = traces.some(({ writes = [] }, i) => i > 0 || writes.length > 0);
  return { ...newTake(seed), status: "done", traces, frames, isEdited };
}

/** The take after each thing that happens to its next canvas. Throws nothing. */
export async function* goOn(
  api: Api,
  take: Take,
  request: CanvasRequest,
  signal: AbortSignal,
): AsyncGenerator<Take> {
  const model = request.model ?? "";
  let events: CanvasEvent[] = [];
  let next: Take = {
    ...take,
    status: "running",
    error: null,
    isEdited: take.isEdited || take.traces.length > 0,
  };
  const shown = (frames: readonly CanvasView[], change: Partial<Take> = {}): Take => ({
    ...next,
    traces: [...take.traces, newTrace(model, request, events)],
    frames,
    ...change,
  });
  yield next;
  let stop = () => {};
  try {
    const { id } = await api.createCanvas({ ...request, every_step: true, top_logprobs: 5 });
    stop = () => void api.deleteCanvas(id).catch(() => undefined);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    let view = emptyView(id);
    let views: readonly CanvasView[] = [];
    for await (const event of api.follow(id, { after: 0, signal })) {
      events = [...events, event];
      view = applyEvent(view, event);
      yield (next = shown([...take.frames, ...(views = withView(views, view, event))]));
    }
    if (signal.aborted || view.status === "cancelled") yield shown(next.frames, { status: "stopped" });
    else if (view.status === "done") yield shown(next.frames, { status: "done" });
    else
      yield shown(next.frames, {
        status: "failed",
        error: view.ending.error?.message ?? "the stream ended early",
      });
  } catch (error) {
    if (signal.aborted) yield shown(next.frames, { status: "stopped" });
    else yield { ...next, status: "failed", error: error instanceof Error ? error.message : String(error) };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The same request from a text on, of which some stretches, in units of the text, stay as they are. */
export function again(
  request: CanvasRequest,
  text: string,
  kept: readonly Span[],
  seed: number,
): CanvasRequest {
  const offsets = new Offsets(text);
  const pins = kept
    .filter(([start, end]) => start < end)
    .map(([start, end]): Span => [offsets.toCharacters(start), offsets.toCharacters(end)]);
  return { ...request, text, pins, seed };
}

/** A take in which a person wrote something in place of some tokens. */
export function rewritten(take: Take, write: Write): Take {
  const last = take.traces.at(-1);
  if (last === undefined) return take;
  const traces = [...take.traces.slice(0, -1), { ...last, writes: [...(last.writes ?? []), write] }];
  return { ...take, traces, frames: [...take.frames, written(latest(take), write)], isEdited: true };
}

/** Where some tokens stand in the text, in its units. */
export function spanOf(tokens: readonly Token[], from: number, to: number): Span {
  const start = tokens.slice(0, from).reduce((length, { text }) => length + text.length, 0);
  return [start, start + tokens.slice(from, to).reduce((length, { text }) => length + text.length, 0)];
}

/** What is not inside some stretches of a text, which do not overlap, in order. */
export function outside(spans: readonly Span[], length: number): Span[] {
  const found: Span[] = [];
  let at = 0;
  for (const [start, end] of [...spans].sort(([a], [b]) => a - b)) {
    if (start > at) found.push([at, start]);
    at = Math.max(at, end);
  }
  if (at < length) found.push([at, length]);
  return found;
}

export function overlap([a, b]: Span, [c, d]: Span): boolean {
  return a < d && c < b;
}

/** Stretches of a text after one of it was replaced by another of some length; those that overlap it are dropped. */
export function shifted(spans: readonly Span[], replaced: Span, length: number): Span[] {
  const more = length - (replaced[1] - replaced[0]);
  return spans
    .filter((span) => !overlap(span, replaced))
    .map(([a, b]): Span => (a >= replaced[1] ? [a + more, b + more] : [a, b]));
}

/** Which tokens stand in some stretches of their text. */
export function pinnedIn(tokens: readonly { text: string }[], pins: readonly Span[]): Set<number> {
  const found = new Set<number>();
  let at = 0;
  tokens.forEach(({ text }, i) => {
    if (text !== "" && pins.some((pin) => overlap(pin, [at, at + text.length]))) found.add(i);
    at += text.length;
  });
  return found;
}
