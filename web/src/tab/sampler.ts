/** Denoising of one canvas: a step decides by what the graph read, as `sfumato.sampling.step` does under uniform noise
 * with the entropy sampler. Values, never changed in place. Numbers round as float32 where a decision depends on it. */
import { noise, ownUniforms, STREAM, uniforms } from "./rng";
import type { Settings } from "./settings";
import type { StopHead } from "./stop-head";

/** What the graph says of each position of a canvas. */
export interface Readings {
  best: Int32Array;
  drawn: Int32Array;
  confidence: Float32Array;
  entropy: Float32Array;
}

export interface Canvas {
  readonly seed: number;
  /** Its number within the answer. */
  readonly index: number;
  /** Key of its random numbers: its number or, of a draft, the number of tokens before it. */
  readonly key: number;
  /** Whether it is verified once it is done. */
  readonly isDraft: boolean;
  readonly step: number;
  readonly steps: number;
  /** What the next step reads; of a finished one, what is committed. */
  readonly tokens: Int32Array;
  readonly draft: Int32Array;
  readonly accepted: readonly boolean[];
  readonly everAccepted: readonly boolean[];
  readonly revised: readonly boolean[];
  readonly revisions: number;
  /** Steps in a row that left the draft unchanged. */
  readonly stable: number;
  readonly isDone: boolean;
  /** It ended at its last step, before its stop rule was met. */
  readonly isUnsettled: boolean;
}

const { fround } = Math;

export function openCanvas(
  seed: number,
  index: number,
  numBefore: number,
  length: number,
  vocabSize: number,
  settings: Settings,
): Canvas {
  const isDraft = settings.draftSteps > 0;
  const key = isDraft ? numBefore : index;
  const tokens = noise(uniforms(seed, key, 0, length, STREAM.startNoise), vocabSize);
  const none = Array<boolean>(length).fill(false);
  return {
    seed,
    index,
    key,
    isDraft,
    step: 0,
    // The noise of a single position tells nothing: one step decides it.
    steps: length === 1 ? 1 : isDraft ? Math.min(settings.draftSteps, settings.steps) : settings.steps,
    tokens,
    draft: tokens,
    accepted: none,
    everAccepted: none,
    revised: none,
    revisions: 0,
    stable: 0,
    // A draft of one token saves nothing.
    isDone: isDraft && length === 1,
    isUnsettled: false,
  };
}

/** What a step draws with. A draft draws as canvases of one position would. */
export function drawsOf({ seed, key, isDraft, step, tokens }: Canvas, stream: number): Float32Array {
  return (isDraft ? ownUniforms : uniforms)(seed, key, step, tokens.length, stream);
}

/** What verifies a draft is drawn with. */
export function checksOf({ seed, key, tokens }: Canvas): Float32Array {
  return ownUniforms(seed, key, 0, tokens.length, STREAM.sample);
}

/** Of the step that comes next: linear in its number. */
export function temperatureOf({ step, steps }: Canvas, settings: Settings): number {
  const left = fround((steps - step) / steps);
  const [start, end] = [fround(settings.temperatureStart), fround(settings.temperatureEnd)];
  return fround(end + fround(fround(start - end) * left));
}

/** Positions of the lowest entropies, as long as those before them in that order come to no more than the bound. */
export function acceptByEntropy(entropy: Float32Array, bound: number): boolean[] {
  const order = Array.from(entropy.keys()).sort((a, b) => (entropy[a] ?? 0) - (entropy[b] ?? 0) || a - b);
  const accepted = Array<boolean>(entropy.length).fill(false);
  let running = 0;
  for (const i of order) {
    const own = entropy[i] ?? 0;
    running += own;
    accepted[i] = fround(fround(running) - own) <= fround(bound);
  }
  return accepted;
}

/** The canvas after a step. Throws an Error if the readings are no numbers. */
export function takeStep(
  canvas: Canvas,
  readings: Readings,
  vocabSize: number,
  settings: Settings,
  stopHead: StopHead | null,
): Canvas {
  const { best: draft, drawn, confidence, entropy } = readings;
  if (entropy.some(Number.isNaN))
    throw new Error("the model gave what is no number; its weights are damaged");
  const { length } = canvas.tokens;
  const isSingle = length === 1;
  const accepted = isSingle ? [true] : acceptByEntropy(entropy, settings.entropyBound);
  const fresh = noise(drawsOf(canvas, STREAM.renoise), vocabSize);
  const next = fresh.map((token, i) => (accepted[i] === true ? (drawn[i] ?? token) : token));
  const changes = draft.map((token, i) => Number(token !== canvas.draft[i]));
  const isSame = canvas.step > 0 && !changes.includes(1);
  const stable = isSame ? canvas.stable + 1 : 0;
  const mean = entropy.reduce((sum, each) => sum + each, 0) / length;
  const isSure = stable >= settings.stableSteps && mean < settings.stopEntropy;
  const isTold = stopHead !== null && stopHead(confidence, stable) > settings.stopProbability;
  const stops = settings.adaptive && (isSure || isTold);
  const isLast = canvas.step + 1 >= canvas.steps;
  const isDone = stops || isLast;
  const committed = isSingle ? drawn : draft;
  const revised = canvas.everAccepted.map((was, i) => was && changes[i] === 1);
  return {
    ...canvas,
    step: canvas.step + 1,
    tokens: isDone ? committed : next,
    draft: isDone ? committed : draft,
    accepted,
    everAccepted: canvas.everAccepted.map((was, i) => was || accepted[i] === true),
    revised,
    revisions: canvas.revisions + revised.filter(Boolean).length,
    stable,
    isDone,
    isUnsettled: isLast && !stops && settings.adaptive && !isSingle && !canvas.isDraft,
  };
}

/** A draft after it was read as text: what that reading draws, up to the first difference, is committed.
 *
 * @returns the canvas, and how many of its tokens are kept.
 */
export function verify(canvas: Canvas, { drawn, entropy }: Readings): [Canvas, number] {
  if (entropy.some(Number.isNaN))
    throw new Error("the model gave what is no number; its weights are damaged");
  const { tokens } = canvas;
  const differs = tokens.findIndex((token, i) => token !== drawn[i]);
  const numAgreed = differs < 0 ? tokens.length : differs;
  const kept = Math.min(numAgreed + 1, tokens.length);
  const next = tokens.map((token, i) => (i < kept ? (drawn[i] ?? token) : token));
  const revised = canvas.everAccepted.map((was, i) => was && next[i] !== tokens[i]);
  const accepted = canvas.accepted.map((_, i) => i < numAgreed);
  return [
    {
      ...canvas,
      step: canvas.step + 1,
      tokens: next,
      draft: next,
      accepted,
      everAccepted: canvas.everAccepted.map((was, i) => was || accepted[i] === true),
      revised,
      revisions: canvas.revisions + revised.filter(Boolean).length,
    },
    kept,
  ];
}
