/** Everything that happened to a canvas, to be looked at again, saved and sent on. */
import { applyEvent, emptyView, type CanvasView } from "./canvas";
import type { CanvasEvent, CanvasRequest } from "./protocol";

const FORMAT = "sfumato-trace-1";

export interface Trace {
  readonly format: typeof FORMAT;
  readonly model: string;
  readonly request: CanvasRequest;
  readonly events: readonly CanvasEvent[];
}

export function newTrace(model: string, request: CanvasRequest, events: readonly CanvasEvent[] = []): Trace {
  return { format: FORMAT, model, request, events };
}

/** The canvas after each step, and as it is at the end. */
export function viewsOf(trace: Trace): CanvasView[] {
  let views: readonly CanvasView[] = [];
  let view = emptyView(trace.events[0]?.canvas_id ?? "");
  for (const event of trace.events) {
    view = applyEvent(view, event);
    views = withView(views, view, event);
  }
  return [...views];
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
  const { format = null, model, request, events } = (found ?? {}) as Record<string, unknown>;
  if (format !== FORMAT) {
    throw new Error(`this file has the format ${JSON.stringify(format)}; allowed: "${FORMAT}"`);
  }
  if (typeof model !== "string" || typeof request !== "object" || request === null || !isEvents(events)) {
    throw new Error("this trace is damaged: its model, request or events are missing");
  }
  return { format: FORMAT, model, request, events };
}

function isEvents(given: unknown): given is CanvasEvent[] {
  return (
    Array.isArray(given) &&
    given.every(
      (event: unknown) => typeof event === "object" && event !== null && "seq" in event && "type" in event,
    )
  );
}
