/** Byte-level BPE out of a tokenizer.json: what ours are made of, and nothing else. */

interface Step {
  type: string;
  pattern?: { String?: string };
  behavior?: string;
  invert?: boolean;
  individual_digits?: boolean;
  add_prefix_space?: boolean;
  use_regex?: boolean;
  pretokenizers?: Step[];
}

export interface TokenizerFile {
  normalizer: unknown;
  pre_tokenizer: Step | null;
  decoder: { type: string } | null;
  model: {
    type: string;
    vocab: Record<string, number>;
    merges: ([string, string] | string)[];
    [other: string]: unknown;
  };
  added_tokens: { id: number; content: string; special: boolean }[];
}

type Cut = (piece: string) => string[];

/** The character that stands for each byte in a byte-level vocabulary: printable ones for themselves, the others from
 * U+0100 on (GPT-2). */
export function byteCharacters(): string[] {
  const isPrintable = (byte: number) =>
    (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || byte >= 174;
  let other = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : other++));
}

/** Cuts out every match of a string; with the text behind it, where that is no match itself, if it goes with the next. */
function splitAt(pattern: string, goesWithNext: boolean): Cut {
  return (piece) => {
    const found: string[] = [];
    const between = piece.split(pattern);
    between.forEach((text, i) => {
      if (i === 0) {
        if (text !== "") found.push(text);
      } else if (goesWithNext) found.push(pattern + text);
      else found.push(pattern, ...(text === "" ? [] : [text]));
    });
    return found;
  };
}

function cutOf(step: Step): Cut {
  const { type, pattern, behavior, invert = false, pretokenizers = [] } = step;
  switch (type) {
    case "Sequence": {
      const cuts = pretokenizers.map(cutOf);
      return (piece) => cuts.reduce((pieces, cut) => pieces.flatMap(cut), [piece]);
    }
    case "Split":
      if (
        pattern?.String !== undefined &&
        !invert &&
        (behavior === "Isolated" || behavior === "MergedWithNext")
      ) {
        return splitAt(pattern.String, behavior === "MergedWithNext");
      }
      break;
    case "Digits":
      if (step.individual_digits === true) return (piece) => piece.match(/\p{N}|[^\p{N}]+/gu) ?? [];
      break;
    case "ByteLevel":
      if (step.add_prefix_space === false && step.use_regex === false) return (piece) => [piece];
  }
  throw new Error(
    `this tokenizer cuts by ${JSON.stringify(step)}; allowed: Split at a string (Isolated, MergedWithNext), individual ` +
      "Digits, ByteLevel without its own pattern",
  );
}

export class BytePairs {
  readonly vocab: ReadonlyMap<string, number>;
  private readonly cut: Cut;
  private readonly ranks: ReadonlyMap<string, number>;
  private readonly known = new Map<string, number[]>();
  private readonly characters = byteCharacters();

  /** Throws an Error that names what it does not do. */
  constructor({ model, normalizer, pre_tokenizer: pre, decoder }: TokenizerFile) {
    if (model.type !== "BPE" || model["ignore_merges"] === true || model["byte_fallback"] === true) {
      throw new Error(`this tokenizer's model is ${model.type}; allowed: BPE that follows its merges`);
    }
    if (normalizer !== null || decoder?.type !== "ByteLevel" || pre === null) {
      throw new Error("this tokenizer normalizes, or is not of bytes; allowed: byte-level ones that do not");
    }
    this.vocab = new Map(Object.entries(model.vocab));
    const pairs = model.merges.map((merge) => (typeof merge === "string" ? merge : merge.join(" ")));
    this.ranks = new Map(pairs.map((pair, rank) => [pair, rank]));
    this.cut = cutOf(pre);
  }

  encode(text: string): number[] {
    return this.cut(text).flatMap((piece) => this.encodePiece(piece));
  }

  private encodePiece(piece: string): number[] {
    const known = this.known.get(piece);
    if (known !== undefined) return known;
    const parts = Array.from(new TextEncoder().encode(piece), (byte) => this.characters[byte] ?? "");
    for (;;) {
      let [best, at] = [Infinity, -1];
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.ranks.get(`${parts[i] ?? ""} ${parts[i + 1] ?? ""}`);
        if (rank !== undefined && rank < best) [best, at] = [rank, i];
      }
      if (at < 0) break;
      parts.splice(at, 2, `${parts[at] ?? ""}${parts[at + 1] ?? ""}`);
    }
    const ids = parts.map((part) => {
      const id = this.vocab.get(part);
      if (id === undefined) throw new Error(`this tokenizer has no token ${JSON.stringify(part)}`);
      return id;
    });
    this.known.set(piece, ids);
    return ids;
  }
}
