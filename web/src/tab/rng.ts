/** Uniforms that depend on seed, canvas, step, position and stream alone, as in `sfumato.sampling.samplers.base`. */

/** What a uniform is drawn for. */
export const STREAM = { startNoise: 1, sample: 2, renoise: 3 } as const;

const BITS = 64;
const GOLDEN = 0x9e3779b97f4a7c15n;
const MULTIPLIER_1 = 0xbf58476d1ce4e5b9n;
const MULTIPLIER_2 = 0x94d049bb133111ebn;
const MANTISSA_BITS = 24;

function mix(value: bigint): bigint {
  let state = BigInt.asUintN(BITS, value);
  state = BigInt.asUintN(BITS, (state ^ (state >> 30n)) * MULTIPLIER_1);
  state = BigInt.asUintN(BITS, (state ^ (state >> 27n)) * MULTIPLIER_2);
  return state ^ (state >> 31n);
}

/** One uniform in [0, 1) for each of the first positions, as float32 holds it exactly. */
export function uniforms(
  seed: number,
  canvas: number,
  step: number,
  count: number,
  stream: number,
): Float32Array {
  let state = mix(BigInt(seed) + GOLDEN);
  for (const key of [canvas, step, stream]) state = mix(state + GOLDEN + BigInt(key));
  return Float32Array.from({ length: count }, (_, position) => {
    const bits = mix(state + GOLDEN + BigInt(position)) >> BigInt(BITS - MANTISSA_BITS);
    return Number(bits) * 2 ** -MANTISSA_BITS;
  });
}

/** One uniform for each position, as a canvas of that position alone would draw it, the first one being `first`. */
export function ownUniforms(
  seed: number,
  first: number,
  step: number,
  count: number,
  stream: number,
): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => uniforms(seed, first + i, step, 1, stream)[0] ?? 0);
}

/** Tokens out of uniforms: noise drawn from a whole vocabulary. Rounds as float32 does. */
export function noise(u: Float32Array, vocabSize: number): Int32Array {
  return Int32Array.from(u, (one) => Math.min(Math.floor(Math.fround(one * vocabSize)), vocabSize - 1));
}
