/** JSON that is still being written, or is no JSON at all: what can be made out of it, and where it stands. */
export interface JsonNode {
  readonly value: unknown;
  /** In the browser's units. */
  readonly start: number;
  readonly end: number;
  /** Of an object by name, of an array by number. */
  readonly children: ReadonlyMap<string, JsonNode>;
  /** Whether its end is there. */
  readonly isComplete: boolean;
}

const MAX_DEPTH = 64;
const NONE: ReadonlyMap<string, JsonNode> = new Map();

/** The first value in a text, as far as it goes; null where there is none. It never throws. */
export function parsePartial(text: string): JsonNode | null {
  return new Reader(text).value(0);
}

/** Where a pointer such as "/items/0" leads; null where that is not there yet. */
export function nodeAt(root: JsonNode | null, path: readonly string[]): JsonNode | null {
  return path.reduce<JsonNode | null>((node, key) => node?.children.get(key) ?? null, root);
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(depth: number): JsonNode | null {
    this.skip(/[^\]}{[",\-\dtfn]*/y);
    const start = this.at;
    const next = this.text[start];
    if (next === undefined || "]},".includes(next) || depth > MAX_DEPTH) return null;
    if (next === "{") return this.object(start, depth);
    if (next === "[") return this.array(start, depth);
    if (next === '"') {
      const { text, isComplete } = this.string();
      return this.node(text, start, isComplete);
    }
    const word = this.skip(/[-+\w.]+/y);
    const known = ["true", "false", "null"].includes(word) ? (JSON.parse(word) as unknown) : undefined;
    const value = known === undefined && /^-?\d/.test(word) ? toNumber(word) : known;
    // A number may go on as long as the text does.
    return this.node(value, start, value !== undefined && this.at < this.text.length);
  }

  private object(start: number, depth: number): JsonNode {
    const children = new Map<string, JsonNode>();
    this.at++;
    for (;;) {
      // What is no name is passed over: a draft may hold anything.
      this.skip(/[^"}]*/y);
      if (this.at >= this.text.length) return this.node(toObject(children), start, false, children);
      if (this.text[this.at] === "}") {
        this.at++;
        return this.node(toObject(children), start, true, children);
      }
      const name = this.string();
      this.skip(/\s*/y);
      if (!name.isComplete || this.text[this.at] !== ":") continue;
      this.at++;
      const value = this.value(depth + 1);
      if (value !== null) children.set(name.text, value);
      else if (depth >= MAX_DEPTH) this.at = this.text.length;
    }
  }

  private array(start: number, depth: number): JsonNode {
    const children = new Map<string, JsonNode>();
    const values = () => Array.from(children.values(), ({ value }) => value);
    this.at++;
    for (;;) {
      this.skip(/[\s,]*/y);
      if (this.at >= this.text.length || this.text[this.at] === "}")
        return this.node(values(), start, false, children);
      if (this.text[this.at] === "]") {
        this.at++;
        return this.node(values(), start, true, children);
      }
      const value = this.value(depth + 1);
      if (value !== null) children.set(String(children.size), value);
      else if (depth >= MAX_DEPTH) this.at = this.text.length;
    }
  }

  private string(): { text: string; isComplete: boolean } {
    this.at++;
    const body = this.skip(/(?:[^"\\]|\\[^])*/y);
    const isComplete = this.text[this.at] === '"';
    this.at = isComplete ? this.at + 1 : this.text.length;
    return { text: unescape(body), isComplete };
  }

  private node(
    value: unknown,
    start: number,
    isComplete: boolean,
    children: ReadonlyMap<string, JsonNode> = NONE,
  ): JsonNode {
    return { value, start, end: this.at, children, isComplete };
  }

  private skip(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.text) ?? [""];
    this.at += found.length;
    return found;
  }
}

function toNumber(word: string): number | undefined {
  const [digits] = /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/.exec(word) ?? [""];
  const value = Number(digits);
  return digits === "" || !Number.isFinite(value) ? undefined : value;
}

/** Names such as "__proto__" are names like any other. */
function toObject(children: ReadonlyMap<string, JsonNode>): object {
  return Object.fromEntries(Array.from(children, ([name, { value }]) => [name, value]));
}

function unescape(body: string): string {
  try {
    return JSON.parse(`"${body}"`) as string;
  } catch {
    // An escape that is cut, or a line's end that JSON would not have.
    return body.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "").replaceAll(/\\(.)/g, "$1");
  }
}
