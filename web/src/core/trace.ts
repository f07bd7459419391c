/** Everything that happened to a canvas, to be looked at again, saved and sent on. */
import { applyEvent, emptyView, type CanvasView, type Token } from "./canvas";
import type { CanvasEvent, CanvasRequest, Span } from "./protocol";

const FORMAT = "sfumato-trace-1";

/** What a person wrote in place of the tokens from one index up to another. */
export interface Write {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface Trace {
  readonly format: typeof FORMAT;
  readonly model: string;
  readonly request: CanvasRequest;
  readonly events: readonly CanvasEvent[];
  /** What was written afterwards, by hand. */
  readonly writes?: readonly Write[];
  /** What was pinned last. */
  readonly pins?: readonly Span[];
}

export function newTrace(model: string, request: CanvasRequest, events: readonly CanvasEvent[] = []): Trace {
  return { format: FORMAT, model, request, events };
}

/** The canvas after each step, as it is at the end, and after each text that was written by hand. */
export function viewsOf(trace: Trace): CanvasView[] {
  let views: readonly CanvasView[] = [];
  let view = emptyView(trace.events[0]?.canvas_id ?? "");
  for (const event of trace.events) {
    view = applyEvent(view, event);
    views = withView(views, view, event);
  }
  for (const write of trace.writes ?? []) views = [...views, written(views.at(-1) ?? view, write)];
  return [...views];
}

/** A canvas with a text in place of some tokens. */
export function written(view: CanvasView, { from, to, text }: Write): CanvasView {
  const clock = view.clock + 1;
  const before = view.tokens[from];
  const token: Token = {
    text,
    state: "committed",
    confidence: null,
    entropy: null,
    since: clock,
    revisions: before?.revisions ?? 0,
    history: [...(before?.history ?? []), { step: clock, text }],
  };
  const tokens = [...view.tokens.slice(0, from), token, ...view.tokens.slice(to)];
  return { ...view, tokens, committed: tokens.length, clock };
}

/** The views with the one after an event: a step is one more, and what comes behind it is how that one is seen. */
export function withView(
  views: readonly CanvasView[],
  view: CanvasView,
  event: CanvasEvent,
): readonly CanvasView[] {
  if (view.tokens.length === 0) return views;
  const isStep = event.type === "canvas.patch" || event.type === "canvas.snapshot";
  return [...(isStep ? views : views.slice(0, -1)), view];
}

/** Traces out of a file's text. Throws an Error that says what is wrong with it. */
export function readTraces(text: string): Trace[] {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error("this file is not JSON; a trace is what “Export” saves");
  }
  const traces = Array.isArray(found) ? found.map(checkTrace) : [checkTrace(found)];
  if (traces.length === 0) throw new Error("there is no trace in this file");
  return traces;
}

function checkTrace(found: unknown): Trace {
  const {
    format = null,
    model,
    request,
    events,
    writes = [],
    pins = [],
  } = (found ?? {}) as Record<string, unknown>;
  if (format !== FORMAT) {
    throw new Error(`this file has the format ${JSON.stringify(format)}; allowed: "${FORMAT}"`);
  }
  if (typeof model !== "string" || typeof request !== "object" || request === null || !isEvents(events)) {
    throw new Error("this trace is damaged: its model, request or events are missing");
  }
  if (!isArrayOf(writes, isWrite) || !isArrayOf(pins, isSpan))
    throw new Error("this trace is damaged: its writes or pins are not what “Export” saves");
  return { format: FORMAT, model, request, events, writes, pins };
}

function isArrayOf<T>(given: unknown, is: (each: unknown) => each is T): given is T[] {
  return Array.isArray(given) && given.every(is);
}

function isWrite(given: unknown): given is Write {
  const { from, to, text } = (given ?? {}) as Record<string, unknown>;
  return isSpan([from, to]) && typeof text === "string";
}

function isSpan(given: unknown): given is Span {
  const [start, end, ...more] = Array.isArray(given) ? (given as unknown[]) : [];
  return (
    Number.isInteger(start) &&
    Number.isInteger(end) &&
    (start as number) <= (end as number) &&
    more.length === 0
  );
}

function isEvents(given: unknown): given is CanvasEvent[] {
  return (
    Array.isArray(given) &&
    given.every(
      (event: unknown) => typeof event === "object" && event !== null && "seq" in event && "type" in event,
    )
  );
}
