/** The server's figures for Prometheus, as a page reads them. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"\s*,?\s*/gy;
const ESCAPED: Readonly<Record<string, string>> = { n: "\n", '"': '"', "\\": "\\" };
const SPECIAL: Readonly<Record<string, number>> = { "+Inf": Infinity, "-Inf": -Infinity, NaN };

/** Samples of the text format; comments are left out. Throws SyntaxError at a line that is none. */
export function parseMetrics(text: string): Sample[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name, inner = "", number = ""] = LINE.exec(line) ?? [];
      const value = SPECIAL[number] ?? Number(number);
      if (name === undefined || (Number.isNaN(value) && number !== "NaN")) {
        throw new SyntaxError(`"${line.slice(0, 80)}" is no sample of the format of Prometheus`);
      }
      const labels: Record<string, string> = {};
      for (const [, key = "", quoted = ""] of inner.matchAll(LABEL)) {
        labels[key] = quoted.replace(/\\(.)/g, (whole, letter: string) => ESCAPED[letter] ?? whole);
      }
      return { name, labels, value };
    });
}

/** What the server had counted at a time, for each model. */
export interface Reading {
  readonly atMs: number;
  readonly models: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Whether the server could not be asked: then there are no models, and lines break. */
  readonly isGap?: true;
}

/** Sums by model and name; names lose "sfumato_" and "_total". */
export function readingOf(samples: readonly Sample[], atMs: number): Reading {
  const models = new Map<string, Map<string, number>>();
  for (const { name, labels, value } of samples) {
    if (labels.model === undefined || labels.le !== undefined || name.endsWith("_created")) continue;
    const of = models.get(labels.model) ?? new Map<string, number>();
    const key = name.replace(/^sfumato_/, "").replace(/_total$/, "");
    of.set(key, (of.get(key) ?? 0) + value);
    models.set(labels.model, of);
  }
  return { atMs, models };
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  /** What it is, for those who do not know. */
  readonly says: string;
  /** Null where nothing happened that it could tell of. */
  of(model: string, before: Reading, now: Reading): number | null;
}

function grown(name: string, model: string, before: Reading, now: Reading): number {
  const [was, is] = [before.models.get(model)?.get(name) ?? 0, now.models.get(model)?.get(name) ?? 0];
  // A server that began anew counts from zero.
  return is < was ? is : is - was;
}

const rate =
  (name: string): Figure["of"] =>
  (model, before, now) => {
    const seconds = (now.atMs - before.atMs) / 1000;
    return seconds <= 0 ? null : grown(name, model, before, now) / seconds;
  };

const ratio =
  (top: string, bottom: string, times = 1): Figure["of"] =>
  (model, before, now) => {
    const of = grown(bottom, model, before, now);
    return of === 0 ? null : (times * grown(top, model, before, now)) / of;
  };

const level =
  (name: string): Figure["of"] =>
  (model, _, now) =>
    now.models.get(model)?.get(name) ?? 0;

/** A figure between each reading and the one before; null at gaps. */
export function lineOf(figure: Figure, model: string, readings: readonly Reading[]): (number | null)[] {
  return readings.slice(1).map((now, i) => {
    const before = readings[i] ?? now;
    return before.isGap || now.isGap ? null : figure.of(model, before, now);
  });
}

/** Everything but `running` and `waiting` is counted when an answer is complete. */
export const FIGURES: readonly Figure[] = [
  { name: "Tokens", unit: "per second", says: "tokens of answers", of: rate("completion_tokens") },
  {
    name: "Positions",
    unit: "per second",
    says: "positions that went through the weights: the work itself",
    of: rate("positions_computed"),
  },
  {
    name: "Steps",
    unit: "per canvas",
    says: "denoising steps until a canvas settled",
    of: ratio("denoising_steps", "canvases"),
  },
  {
    name: "Time to first committed canvas",
    unit: "ms",
    says: "the mean of the answers that came",
    of: ratio("first_commit_seconds_sum", "first_commit_seconds_count", 1000),
  },
  {
    name: "Revisions",
    unit: "per answer",
    says: "accepted positions that changed again",
    of: ratio("revisions", "answers"),
  },
  {
    name: "Cache",
    unit: "% of prompt tokens",
    says: "prompt tokens that did not have to be computed",
    of: ratio("cached_tokens", "prompt_tokens", 100),
  },
  { name: "Running", unit: "answers", says: "rows of the running batch", of: level("running") },
  { name: "In the queue", unit: "answers", says: "answers that wait for a row", of: level("waiting") },
];

/** A number in as few signs as tell it. */
export function short(value: number | null): string {
  if (value === null) return "–";
  if (value === 0) return "0";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}
