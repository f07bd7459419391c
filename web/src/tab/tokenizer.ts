/** Text to tokens and back, as `sfumato.text.tokenizer` does it. Text is never searched for special tokens. */
import { byteCharacters, BytePairs, type TokenizerFile } from "./bpe";

/** Stands for a user's turn in `turn` of export.json. */
const TURN = "\u{100000}";
const HALF_PAIR = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

export class Tokenizer {
  readonly vocabSize: number;
  readonly specialIds: ReadonlySet<number>;
  private readonly pairs: BytePairs;
  private readonly named: ReadonlyMap<string, number>;
  private readonly bytes: (Uint8Array | null)[] = [];

  /** Takes tokenizer.json. Throws an Error that names what of it the tab does not do. */
  constructor(file: object) {
    const given = file as TokenizerFile;
    this.pairs = new BytePairs(given);
    const byteOf = new Map(byteCharacters().map((character, byte) => [character, byte]));
    this.named = new Map(given.added_tokens.map(({ id, content }) => [content, id]));
    this.specialIds = new Set(given.added_tokens.filter(({ special }) => special).map(({ id }) => id));
    for (const [token, id] of this.pairs.vocab) {
      this.bytes[id] = Uint8Array.from(Array.from(token, (character) => byteOf.get(character) ?? 0));
    }
    for (const { id, content, special } of given.added_tokens) {
      this.bytes[id] = special ? null : new TextEncoder().encode(content);
    }
    this.vocabSize = this.bytes.length;
  }

  /** The id of a special token. Throws an Error if there is none of that name. */
  idOf(token: string): number {
    const id = this.named.get(token);
    if (id === undefined) throw new Error(`this tokenizer has no token ${JSON.stringify(token)}`);
    return id;
  }

  /** The tokens of a text. Throws an Error if it holds half of a surrogate pair, which is no character. */
  encode(text: string): number[] {
    if (HALF_PAIR.test(text)) throw new Error("the text holds half of a surrogate pair; allowed: characters");
    return this.pairs.encode(text);
  }

  /** The tokens of a prompt: what a chat template makes of one turn. */
  encodeTurn(pieces: readonly (string | number)[], text: string): number[] {
    return pieces.flatMap((piece) =>
      typeof piece === "number" ? [piece] : this.encode(piece.replace(TURN, () => text)),
    );
  }

  /** The text of tokens, without special ones; bytes that form no character read as U+FFFD. */
  decode(ids: Iterable<number>): string {
    return this.pieces(ids).join("");
  }

  /** What each token adds to the text, where a character of several tokens comes with the last of them; behind all of
   * them, what is left of a character without its end. */
  pieces(ids: Iterable<number>): string[] {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const pieces = Array.from(ids, (id) =>
      decoder.decode(this.bytes[id] ?? new Uint8Array(), { stream: true }),
    );
    return [...pieces, decoder.decode()];
  }
}
