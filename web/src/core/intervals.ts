/** How sure a share is, and what stands in the middle. */

/** Of a normal distribution, 95% lie within so many standard deviations. */
const Z = 1.959964;

/** The 95% interval of a share: k of n. Wilson 1927; it stays in [0, 1] and holds for small n. */
export function wilson(k: number, n: number): [low: number, high: number] {
  if (n === 0) return [0, 1];
  const share = k / n;
  const middle = share + (Z * Z) / (2 * n);
  const reach = Z * Math.sqrt((share * (1 - share)) / n + (Z * Z) / (4 * n * n));
  const scale = 1 + (Z * Z) / n;
  // At the ends the bound is exact; the rounding is not.
  return [k === 0 ? 0 : (middle - reach) / scale, k === n ? 1 : (middle + reach) / scale];
}

/** The median; null of nothing. */
export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[half - 1] ?? 0, sorted[half] ?? 0];
  return sorted.length % 2 === 1 ? high : (low + high) / 2;
}
