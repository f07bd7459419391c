/**
 * Places in a text. The server counts characters (code points), a browser counts halves of them beyond U+FFFF.
 * Half a pair that stands alone is a character to both.
 */
export class Offsets {
  /** Where pairs begin, in the browser's units. */
  private readonly pairs: number[] = [];

  constructor(text: string) {
    for (let at = 0; at < text.length; at++) {
      if ((text.codePointAt(at) ?? 0) > 0xffff) this.pairs.push(at++);
    }
  }

  /** Characters before a place that a browser gives; between two halves it is the character's beginning. */
  toCharacters(unit: number): number {
    return unit - this.numPairs((start) => start < unit);
  }

  /** The place, as a browser counts, that has so many characters before it. */
  toUnits(character: number): number {
    return character + this.numPairs((start, before) => start - before < character);
  }

  /** Pairs from the first on for which something is so. */
  private numPairs(isBefore: (start: number, before: number) => boolean): number {
    let [low, high] = [0, this.pairs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(this.pairs[middle] ?? 0, middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
