/** One answer, canvas by canvas, as the engine writes it: `Sequence` and `Engine` in Python. It knows no runtime: a
 * forward is a function. */
import type { CanvasEvent, Usage } from "../core/protocol";
import { STREAM } from "./rng";
import {
  checksOf,
  drawsOf,
  openCanvas,
  takeStep,
  temperatureOf,
  verify,
  type Canvas,
  type Readings,
} from "./sampler";
import type { Manifest, Settings } from "./settings";
import type { StopHead } from "./stop-head";
import type { Tokenizer } from "./tokenizer";

/** What one pass through the graph is given; `cache` is of all positions before these. */
export interface ForwardInput {
  tokens: Int32Array;
  cache: Float32Array;
  causal: boolean;
  /** Which positions are read. */
  read: Int32Array;
  temperature: number;
  uniform: Float32Array;
  banned: Uint8Array;
  canvas: boolean;
  /** Soft embedding of the last prediction; null where there is none. */
  soft: Float32Array | null;
}

export interface ForwardOutput extends Readings {
  /** Keys and values of the positions, laid out like `cache`. */
  written: Float32Array;
  soft: Float32Array | null;
  /** How probable each length of an answer is, at each position that was read. */
  lengths: Float32Array | null;
}

export type Forward = (input: ForwardInput) => Promise<ForwardOutput>;

export interface TextModel {
  manifest: Manifest;
  settings: Settings;
  tokenizer: Tokenizer;
  stopHead: StopHead | null;
  forward: Forward;
}

export interface Answer {
  text: string;
  finishReason: "stop" | "length" | "steps" | "cancelled";
  usage: Usage;
}

/** Probability with which a first canvas is to hold the whole answer. */
const ENOUGH = 0.9;
const MIN_CONFIDENCE = 1e-30;
/** Positions of the first draft, and the fewest of a later one: about as many as will probably be kept. */
const [FIRST_DRAFT, LEAST_DRAFT] = [16, 8];

/** Keys and values [layers x 2 x heads, positions, size] with further positions behind them, the first `kept` of those
 * written or all. */
export function appended(
  cache: Float32Array,
  written: Float32Array,
  rows: number,
  size: number,
  kept?: number,
): Float32Array {
  const [old, each] = [cache.length / rows, written.length / rows];
  if (!Number.isInteger(old / size)) throw new Error("the cache has another shape");
  const more = kept === undefined ? each : kept * size;
  const all = new Float32Array(rows * (old + more));
  for (let row = 0; row < rows; row++) {
    all.set(cache.subarray(row * old, (row + 1) * old), row * (old + more));
    all.set(written.subarray(row * each, row * each + more), row * (old + more) + old);
  }
  return all;
}

/** Which tokens no answer may hold: special ones that do not end it, and rows that are no token. */
export function bannedTokens({ manifest, settings, tokenizer }: TextModel): Uint8Array {
  return Uint8Array.from({ length: manifest.vocab_size }, (_, id) =>
    Number(id >= tokenizer.vocabSize || (tokenizer.specialIds.has(id) && !settings.eosIds.includes(id))),
  );
}

/** How long a first canvas is to be; null if the answer is longer than all lengths. */
function firstLength(shares: Float32Array, buckets: readonly number[]): number | null {
  let sum = 0;
  return buckets.find((_, i) => (sum += shares[i] ?? 0) >= ENOUGH) ?? null;
}

/**
 * Answers a prompt, and tells of each step as a server does. Throws an Error if the prompt is empty or too long.
 *
 * @param isStopped asked between steps: the answer then ends with what was committed.
 */
export async function* generate(
  model: TextModel,
  prompt: string,
  seed: number,
  isStopped: () => boolean = () => false,
): AsyncGenerator<CanvasEvent, Answer> {
  const { manifest, settings, tokenizer, forward } = model;
  if (prompt.trim() === "") throw new Error("the prompt is empty; give some text");
  const text = tokenizer.encodeTurn(manifest.turn, prompt);
  const maxTokens = Math.max(1, Math.min(settings.maxTokens, manifest.max_positions - text.length));
  if (text.length + maxTokens > manifest.max_positions) {
    throw new Error(
      `the prompt has ${text.length} tokens; ${manifest.name} holds ${manifest.max_positions} with the answer: ` +
        "shorten the prompt",
    );
  }
  const [layers, two, heads, size] = manifest.cache_shape;
  const rows = layers * two * heads;
  const banned = bannedTokens(model);
  const began = performance.now();
  const usage: Usage = {
    prompt_tokens: text.length,
    completion_tokens: 0,
    canvases: 0,
    denoising_steps: 0,
    forward_passes: 0,
    positions_computed: 0,
    revisions: 0,
    time_to_first_commit_s: 0,
    total_s: 0,
  };
  const run = (input: Omit<ForwardInput, "banned">) => {
    usage.forward_passes += 1;
    usage.positions_computed += input.tokens.length;
    return forward({ ...input, banned });
  };
  const event = telling(seed, began);
  const tokens: number[] = [];
  let cache: Float32Array = new Float32Array(0);
  let cached = 0;
  let [length, logConfidence, decided, unsettled] = [manifest.spec.canvas_length, 0, 0, 0];
  let lastKept = 0;
  let reason: Answer["finishReason"] | null = null;
  yield event({ type: "canvas.started", model: manifest.name });
  while (reason === null) {
    // The last token of the text is read by the canvas, whose logits stand one position to the left.
    const unwritten = Int32Array.from(text.slice(cached, -1));
    length = manifest.spec.canvas_length;
    const isDrafting = settings.draftSteps > 0;
    if (isDrafting) {
      length = Math.min(length, usage.canvases > 0 ? Math.max(LEAST_DRAFT, 2 * lastKept) : FIRST_DRAFT);
    }
    if (unwritten.length > 0) {
      const { written, lengths } = await run({
        tokens: unwritten,
        cache,
        causal: true,
        read: Int32Array.of(unwritten.length - 1),
        temperature: 1,
        uniform: new Float32Array(1),
        canvas: false,
        soft: null,
      });
      cache = appended(cache, written, rows, size);
      cached += unwritten.length;
      if (lengths !== null && usage.canvases === 0 && !isDrafting) {
        length = firstLength(lengths, manifest.length_buckets) ?? length;
      }
    }
    length = Math.min(length, maxTokens - tokens.length);
    let canvas = openCanvas(seed, usage.canvases, tokens.length, length, manifest.vocab_size, settings);
    let soft: Float32Array | null = null;
    let read: ForwardOutput | null = null;
    const pieces = (shown: Canvas) => piecesOf(shown, tokens, model);
    yield event(stepOf(canvas, null, pieces(canvas), tokens.length));
    const stepOver = (asText: boolean, temperature: number, uniform: Float32Array) =>
      run({
        tokens: Int32Array.of(text.at(-1) ?? 0, ...canvas.tokens.subarray(0, -1)),
        cache,
        causal: asText,
        read: Int32Array.from({ length }, (_, i) => i),
        temperature,
        uniform,
        canvas: !asText,
        soft: asText ? null : soft,
      });
    while (!canvas.isDone && !isStopped()) {
      read = await stepOver(false, temperatureOf(canvas, settings), drawsOf(canvas, STREAM.sample));
      soft = read.soft;
      canvas = takeStep(canvas, read, manifest.vocab_size, settings, model.stopHead);
      yield event(stepOf(canvas, read, pieces(canvas), tokens.length));
    }
    if (canvas.isDraft && canvas.isDone && !isStopped()) {
      read = await stepOver(true, Math.fround(settings.temperatureEnd), checksOf(canvas));
      [canvas, lastKept] = verify(canvas, read);
      cache = appended(cache, read.written, rows, size, lastKept);
      cached += lastKept;
      yield event(stepOf(canvas, read, pieces(canvas), tokens.length));
    } else if (!canvas.isDone || read === null || canvas.isDraft) {
      reason = "cancelled";
      break;
    }
    const committed = canvas.isDraft ? canvas.tokens.subarray(0, lastKept) : canvas.tokens;
    usage.canvases += 1;
    usage.denoising_steps += canvas.step;
    usage.revisions += canvas.revisions;
    usage.time_to_first_commit_s ||= (performance.now() - began) / 1000;
    unsettled += Number(canvas.isUnsettled);
    const end = committed.findIndex((token) => settings.eosIds.includes(token));
    const kept = Array.from(end < 0 ? committed : committed.subarray(0, end));
    // What a draft says after the end is not part of the answer.
    const counted = canvas.isDraft && end >= 0 ? end + 1 : committed.length;
    for (const each of read.confidence.subarray(0, counted)) {
      logConfidence += Math.log(Math.max(each, MIN_CONFIDENCE));
    }
    decided += counted;
    const first = tokens.length;
    tokens.push(...kept);
    text.push(...committed);
    if (end >= 0) reason = unsettled > 0 ? "steps" : "stop";
    else if (tokens.length >= maxTokens) reason = "length";
    const told = tokenizer.pieces(tokens);
    const at = told.slice(0, first).join("").length;
    const piece = told.slice(first, -1).join("");
    yield event({ type: "canvas.commit", block: canvas.index, chars: [at, at], text: piece });
  }
  usage.completion_tokens = tokens.length;
  usage.total_s = (performance.now() - began) / 1000;
  const whole = tokenizer.decode(tokens);
  const status = reason === "cancelled" ? "cancelled" : "done";
  const certainty = logConfidence / Math.max(1, decided);
  const ending = { finish_reason: reason, seed, certainty, usage };
  yield event({ type: "canvas.done", status, text: whole, ...ending });
  return { text: whole, finishReason: reason, usage };
}

type Untold = CanvasEvent extends infer Each
  ? Each extends CanvasEvent
    ? Omit<Each, "seq" | "canvas_id" | "rev" | "elapsed_ms">
    : never
  : never;

function telling(seed: number, began: number): (event: Untold) => CanvasEvent {
  let seq = 0;
  return (event) => ({
    seq: seq++,
    canvas_id: `tab-${seed}`,
    rev: 0,
    elapsed_ms: performance.now() - began,
    ...event,
  });
}

/** The text of each position; none of what stands behind the end of the text, or forms no character yet. */
function piecesOf(
  { draft }: Canvas,
  before: readonly number[],
  { settings, tokenizer }: TextModel,
): string[] {
  const end = draft.findIndex((token) => settings.eosIds.includes(token));
  const shown = end < 0 ? draft : draft.subarray(0, end);
  const told = tokenizer.pieces([...before, ...shown]).slice(before.length, -1);
  return Array.from(draft, (_, i) => told[i]?.replaceAll("\ufffd", "") ?? "");
}

function stepOf(canvas: Canvas, read: Readings | null, pieces: string[], at: number): Untold {
  const { length } = pieces;
  const state = pieces.map((_, i) =>
    canvas.revised[i] === true
      ? ("revised" as const)
      : canvas.accepted[i] === true
        ? ("accepted" as const)
        : ("noise" as const),
  );
  return {
    type: "canvas.patch",
    block: canvas.index,
    step: canvas.step,
    steps: canvas.steps + Number(canvas.isDraft),
    changes: [{ tokens: [0, read === null ? 0 : length], chars: [at, at], text: pieces.join(""), pieces }],
    state,
    confidence: read === null ? Array<number>(length).fill(0) : Array.from(read.confidence),
    entropy: read === null ? [] : Array.from(read.entropy),
  };
}
