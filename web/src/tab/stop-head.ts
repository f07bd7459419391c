/** The learned stop rule of a checkpoint, see `sfumato.sampling.logits.LearnedStop`: stop_head.safetensors. */

const WORST = 6;
const LEAST = Math.fround(1e-6);
const LONGEST_STABLE = 3;
const BELOW = [0.3, 0.6, 0.9, 0.99].map(Math.fround);

export type StopHead = (confidence: Float32Array, stable: number) => number;

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** The float32 tensors of a safetensors file. */
export function readTensors(file: ArrayBuffer): Map<string, Float32Array> {
  const size = Number(new DataView(file).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, size))) as Record<string, Entry>;
  const found = new Map<string, Float32Array>();
  for (const [name, { dtype, data_offsets }] of Object.entries(header)) {
    if (dtype !== "F32") continue;
    const [start, end] = data_offsets;
    found.set(name, new Float32Array(file.slice(8 + size + start, 8 + size + end)));
  }
  return found;
}

/** The error function: its series, to the last bits of a double for what comes up here. */
function erf(x: number): number {
  if (Math.abs(x) > 5) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const gelu = (x: number) => (x / 2) * (1 + erf(x / Math.SQRT2));

/** What the network sees of a step, see `stop_features`. */
export function stopFeatures(confidence: Float32Array, stable: number): number[] {
  const count = confidence.length;
  const surprise = Array.from(confidence, (each) => -Math.log(Math.max(each, LEAST)));
  const worst = [...surprise].sort((a, b) => b - a).slice(0, WORST);
  const mean = surprise.reduce((sum, each) => sum + each, 0) / count;
  const shares = BELOW.map((bound) => confidence.filter((each) => each < bound).length / count);
  const padded = [...worst, ...Array<number>(WORST - worst.length).fill(0)];
  return [...padded, mean, ...shares, Math.min(stable, LONGEST_STABLE), Math.log(count)];
}

/** Reads the network. Throws an Error if the file holds another one. */
export function readStopHead(file: ArrayBuffer): StopHead {
  const tensors = readTensors(file);
  const layer = (name: string) => {
    const weight = tensors.get(`${name}.weight`);
    const bias = tensors.get(`${name}.bias`);
    if (weight === undefined || bias === undefined) throw new Error(`stop_head.safetensors has no ${name}`);
    const width = weight.length / bias.length;
    return (inputs: readonly number[]) =>
      Array.from(bias, (start, o) =>
        inputs.reduce((sum, x, i) => sum + x * (weight[o * width + i] ?? NaN), start),
      );
  };
  const [inside, between, outside] = [layer("inside"), layer("between"), layer("outside")];
  return (confidence, stable) => {
    const hidden = inside(stopFeatures(confidence, stable)).map(gelu);
    const logit = outside(between(hidden).map(gelu))[0] ?? NaN;
    return 1 / (1 + Math.exp(-logit));
  };
}
