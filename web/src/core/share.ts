/** A request in a link, after its #, which browsers send to no server. */
import type { CanvasRequest, Message } from "./protocol";

/** The options that a person set; the model's defaults apply to the others. */
export interface Options {
  steps?: number;
  temperature?: number;
  max_tokens?: number;
  canvas_length?: number;
  sampler?: string;
}

export interface Shared {
  model: string;
  prompt: string;
  turns: readonly Message[];
  options: Options;
  seed: number;
  count: number;
}

const OPTIONS: readonly string[] = ["steps", "temperature", "max_tokens", "canvas_length", "sampler"];

/** What a model is asked. */
export function requestOf({ model, prompt, turns, options, seed }: Shared): CanvasRequest {
  const asked =
    turns.length === 0 ? { prompt } : { messages: [...turns, { role: "user" as const, content: prompt }] };
  return { model, seed, ...asked, ...options };
}

/** What a link can say of a request. */
export function sharedOf(request: CanvasRequest, count: number): Shared {
  const { model = "", prompt, messages = [], seed = 0 } = request;
  const options = Object.entries(request).filter(([name]) => OPTIONS.includes(name));
  return {
    model,
    prompt: prompt ?? messages.at(-1)?.content ?? "",
    turns: prompt === undefined ? messages.slice(0, -1) : [],
    options: Object.fromEntries(options),
    seed,
    count,
  };
}

/** Whether a link can say all of a request. */
export function isShareable(request: CanvasRequest): boolean {
  const known = requestOf(sharedOf(request, 1));
  return Object.keys(request).every((name) => name in known);
}

export function sharedHash(shared: Shared): string {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  // Not as arguments of one call, of which there is room for some 100,000.
  return `#${btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")}`;
}

function isMessage(given: unknown): given is Message {
  const { role, content } = (given ?? {}) as Record<string, unknown>;
  return typeof role === "string" && typeof content === "string";
}

/** The request in a link; null if it holds none. */
export function readShared(hash: string): Shared | null {
  if (hash.length < 2) return null;
  try {
    const bytes = atob(hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (each) => each.charCodeAt(0)));
    const { seed, count, ...found } = JSON.parse(text) as Record<keyof Shared, unknown>;
    if (typeof found.model !== "string" || typeof found.prompt !== "string") return null;
    const turns = Array.isArray(found.turns) ? (found.turns as unknown[]).filter(isMessage) : [];
    const options = typeof found.options === "object" && found.options !== null ? found.options : {};
    const { model, prompt } = found;
    return { model, prompt, turns, options, seed: numberOr(seed, 0), count: Math.max(1, numberOr(count, 1)) };
  } catch {
    return null;
  }
}

function numberOr(value: unknown, other: number): number {
  return typeof value === "number" && Number.isFinite(value) ? value : other;
}
