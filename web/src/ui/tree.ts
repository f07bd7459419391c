/**
 * The tree of an interface, and its text: one line a component, as `sfumato.ui.tree` has it in Python.
 *
 * Both read the kinds of components from one schema.json. Values are never changed in place.
 */
import schema from "../../../src/sfumato/ui/schema.json";

export const MAX_DEPTH = 4;
const LETTERS = Array.from("abcdefghijklmnopqrstuvwxyz");
/** All slot ids in their order: a to z, aa to zz. */
export const SLOT_IDS: readonly string[] = [
  ...LETTERS,
  ...LETTERS.flatMap((one) => LETTERS.map((two) => one + two)),
];
const ORDER = new Map(SLOT_IDS.map((id, index) => [id, index]));
const LINE = /^( *)(?:([a-z]{1,2}) )?([a-z]{3,})((?: [a-z0-9]+)*)(?:: ([^\n]+))?$/u;
const NUMBER = /^(?:0|[1-9]\d*)$/;

/** What is wrong with a page, a line or a program; its message says what is allowed. */
export class PageError extends Error {
  override name = "PageError";
}

/** What the schema says of one kind of component. */
export interface Kind {
  readonly name: string;
  /** Each word of a property, and the property; that of a number is "#". */
  readonly words: ReadonlyMap<string, string>;
  /** In the order in which they are written. */
  readonly properties: readonly string[];
  readonly range: readonly [number, number];
  readonly hasText: boolean;
  readonly needsText: boolean;
  /** Fewest and most. */
  readonly cells: readonly [number, number];
  /** Kinds that may stand in it. */
  readonly children: ReadonlySet<string>;
}

/** One slot of a page, with what stands in it. */
export interface Component {
  readonly id: string;
  readonly kind: string;
  /** Of its properties, in the order of the schema, without those that have their default. */
  readonly words: readonly string[];
  readonly text: string;
  readonly cells: readonly string[];
  readonly children: readonly Component[];
}

interface Node {
  $ref?: string;
  type?: string;
  enum?: string[];
  const?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  oneOf?: Node[];
  items?: Node;
  properties?: Record<string, Node>;
  required?: string[];
}

const definitions = schema.$defs as unknown as Record<string, Node>;
const nameOf = (node: Node) => node.$ref?.split("/").at(-1) ?? "";

function resolve(node: Node): Node {
  return node.$ref === undefined ? node : resolve(definitions[nameOf(node)] ?? {});
}

function kindOf(name: string, definition: Node): Kind {
  const words = new Map<string, string>();
  let range: [number, number] = [0, 0];
  const fields = definition.properties ?? {};
  for (const [key, given] of Object.entries(fields)) {
    const value = resolve(given);
    if (value.type === "integer") {
      words.set("#", key);
      range = [value.minimum ?? 0, value.maximum ?? 0];
    } else if (key !== "component" && (value.enum !== undefined || value.const !== undefined)) {
      for (const word of value.enum ?? [key]) words.set(word, key);
    }
  }
  const cells = fields.cells ?? {};
  const inner = resolve(fields.children?.items ?? {}).oneOf ?? [];
  return {
    name,
    words,
    properties: [...new Set(words.values())],
    range,
    hasText: "text" in fields,
    needsText: definition.required?.includes("text") ?? false,
    cells: [cells.minItems ?? 0, cells.maxItems ?? 0],
    children: new Set(inner.map(nameOf)),
  };
}

/** The kinds of components by name. */
export const kinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries(definitions)
    .filter(([, definition]) => definition.properties !== undefined && "component" in definition.properties)
    .map(([name, definition]) => [name, kindOf(name, definition)]),
);

/** Characters of a text by hand; models read and write as many as the schema says. */
export const MAX_TYPED = 120;
const LENGTH = /\{0,(\d+)\}\$$/;
const patternOf = (name: string) => definitions[name]?.pattern ?? "";
const typed = (name: string) => new RegExp(patternOf(name).replace(LENGTH, `{0,${MAX_TYPED - 1}}$`), "u");
const patterns = { label: typed("label"), cell: typed("cell") };
const lengthOf = (name: string) => 1 + Number(LENGTH.exec(patternOf(name))?.[1]);
const lengths = { label: lengthOf("label"), cell: lengthOf("cell") };

/** A page as models read it: with the beginnings of texts that are too long for them. */
export function abridged(of: Component): Component {
  const cut = (text: string, longest: number) =>
    text.length <= longest
      ? text
      : text
          .slice(0, longest + 1)
          .replace(/ \S*$/, "")
          .slice(0, longest);
  return {
    ...of,
    text: cut(of.text, lengths.label),
    cells: of.cells.map((cell) => cut(cell, lengths.cell)),
    children: of.children.map(abridged),
  };
}

/** Of a component that is there. */
export function kind(of: { kind: string }): Kind {
  const found = kinds.get(of.kind);
  if (found === undefined) throw new PageError(unknown("component", of.kind, kinds.keys()));
  return found;
}

/** A string as messages show it. */
export function quote(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return escaped.includes("'") && !escaped.includes('"')
    ? `"${escaped}"`
    : `'${escaped.replaceAll("'", "\\'")}'`;
}

export function unknown(what: string, given: string, allowed: Iterable<string>): string {
  return `unknown ${what} ${quote(given)}; allowed: ${[...allowed].sort().join(", ")}`;
}

/** The property that a word sets; undefined if it sets none. */
export function propertyOf(of: Kind, word: string): string | undefined {
  if (!NUMBER.test(word)) return word === "#" ? undefined : of.words.get(word);
  const [low, high] = of.range;
  return Number(word) >= low && Number(word) <= high ? of.words.get("#") : undefined;
}

/** The word of a property; undefined where it has its default. */
export function get(component: Component, name: string): string | undefined {
  return component.words.find((word) => propertyOf(kind(component), word) === name);
}

/** Its words with one property changed, or without it. */
export function withWord(component: Component, name: string, word: string | null): readonly string[] {
  const of = kind(component);
  const place = (each: string) => of.properties.indexOf(propertyOf(of, each) ?? "");
  const rest = component.words.filter((each) => propertyOf(of, each) !== name);
  return (word === null ? rest : [...rest, word]).sort((one, other) => place(one) - place(other));
}

/** Those that are not hidden. */
export function visible(components: readonly Component[]): readonly Component[] {
  return components.filter((each) => get(each, "hidden") === undefined);
}

/** A component and all that stands in it, from top to bottom. */
export function* walk(component: Component): Generator<Component> {
  yield component;
  for (const child of component.children) yield* walk(child);
}

/** The component of a slot; undefined if there is none. */
export function slot(page: Component, id: string): Component | undefined {
  for (const each of walk(page)) if (each.id === id) return each;
  return undefined;
}

/** What a component stands in; undefined for the page, and for what is not on it. */
export function holderOf(page: Component, id: string): Component | undefined {
  for (const each of walk(page)) if (each.children.some((child) => child.id === id)) return each;
  return undefined;
}

function allowedWords(of: Kind): string {
  const [low, high] = of.range;
  return (
    [...of.words.keys()].map((word) => (word === "#" ? `${low} to ${high}` : word)).join(", ") ||
    "no property"
  );
}

/** The component, if it is as the schema says, its children aside from their kinds and cells. Throws PageError. */
export function checked(component: Component): Component {
  const of = kind(component);
  const { text, cells, words } = component;
  const where = `${component.kind} ${component.id}`;
  const places = words.map((word) => {
    const name = propertyOf(of, word);
    if (name === undefined) throw new PageError(`${where} has ${quote(word)}; allowed: ${allowedWords(of)}`);
    return of.properties.indexOf(name);
  });
  if (places.some((place, index) => index > 0 && place <= (places[index - 1] ?? 0))) {
    throw new PageError(`${where} has ${quote(words.join(" "))}; allowed: one each of ${allowedWords(of)}`);
  }
  if ((text !== "" && !of.hasText) || (text === "" && of.needsText)) {
    throw new PageError(
      `${where} has ${text === "" ? "no" : "a"} text; allowed: ${of.hasText ? "a" : "no"} text`,
    );
  }
  const [low, high] = of.cells;
  if (cells.length < low || cells.length > high || (cells.length > 0 && of.hasText && text === "")) {
    throw new PageError(
      `${where} has ${cells.length} cells; allowed: ${low} to ${high}, behind its text if it has one`,
    );
  }
  const wrong = (string: string) =>
    new PageError(
      `${where} has the string ${quote(string)}; allowed: 1 to ${MAX_TYPED} characters without |, line ends, U+FFFD, and ` +
        "spaces at the ends or side by side",
    );
  if (text !== "" && !patterns.label.test(text)) throw wrong(text);
  for (const cell of cells) if (!patterns.cell.test(cell)) throw wrong(cell);
  for (const child of component.children) {
    if (!of.children.has(child.kind)) {
      const allowed = [...of.children].sort().join(", ") || "nothing";
      throw new PageError(`${where} holds ${child.kind} ${child.id}; allowed: ${allowed}`);
    }
    if (child.kind === "record" && child.cells.length !== cells.length) {
      throw new PageError(
        `record ${child.id} has ${child.cells.length} cells; allowed: ${cells.length}, as its table`,
      );
    }
  }
  return component;
}

/** The page, if it is a whole one: one id each, not too deep. Throws PageError. */
export function checkPage(page: Component): Component {
  if (page.kind !== "page") throw new PageError(`the first component is a ${page.kind}; allowed: page`);
  const ids = new Set<string>();
  for (const { id } of walk(page)) {
    if (!ORDER.has(id)) {
      throw new PageError(`a slot id is ${quote(id)}; allowed: one or two letters from a to z`);
    }
    if (ids.has(id)) throw new PageError(`two slots have the id ${quote(id)}; allowed: one each`);
    ids.add(id);
  }
  const depth = depthOf(page);
  if (depth > MAX_DEPTH) {
    throw new PageError(`components stand ${depth} levels below the page; allowed: ${MAX_DEPTH}`);
  }
  return page;
}

function depthOf(component: Component): number {
  return Math.max(0, ...component.children.map((child) => 1 + depthOf(child)));
}

/** Ids behind the highest in use. Throws PageError if there are not so many. */
export function newIds(page: Component, count: number): readonly string[] {
  const start = 1 + Math.max(...[...walk(page)].map(({ id }) => ORDER.get(id) ?? 0));
  if (start + count > SLOT_IDS.length) {
    throw new PageError(`the page has no id left for ${count} new slots; allowed: up to 'zz'`);
  }
  return SLOT_IDS.slice(start, start + count);
}

/** The line of a component, without its indent and without those of its children. */
export function lineOf(component: Component, ids = true): string {
  const head = [...(ids ? [component.id] : []), component.kind, ...component.words].join(" ");
  const body = [...(component.text === "" ? [] : [component.text]), ...component.cells].join(" | ");
  return body === "" ? head : `${head}: ${body}`;
}

/** The text of a tree, with slot ids or without. */
export function toText(page: Component, { ids = true, indent = 0 } = {}): string {
  return [
    " ".repeat(indent) + lineOf(page, ids),
    ...page.children.map((child) => toText(child, { ids, indent: indent + 1 })),
  ].join("\n");
}

/** A line's indent, whether it has a slot id, and its component, with the id given if it has none. Throws PageError. */
export function readLine(line: string, id: string): { indent: number; hasId: boolean; component: Component } {
  const match = LINE.exec(line);
  if (match === null) {
    throw new PageError(
      "it is not a component; allowed: a slot id, a kind, its properties, a colon and a text",
    );
  }
  const [, indent = "", own, name = "", words = "", body] = match;
  const parts = body === undefined ? [] : body.split(" | ");
  const hasText = parts.length > 0 && (kinds.get(name)?.hasText ?? false);
  const component = checked({
    id: own ?? id,
    kind: name,
    words: words.split(" ").filter((word) => word !== ""),
    text: hasText ? (parts[0] ?? "") : "",
    cells: hasText ? parts.slice(1) : parts,
    children: [],
  });
  return { indent: indent.length, hasId: own !== undefined, component };
}

/** Puts lines together; a component is complete when a line stands less deep. */
class Path {
  private path: [Component, Component[]][] = [];

  get length(): number {
    return this.path.length;
  }

  add(component: Component, depth: number): void {
    this.complete(depth);
    this.path.push([component, []]);
  }

  complete(depth: number): void {
    while (this.path.length > depth) {
      const [component, children] = this.path.at(-1) as [Component, Component[]];
      const whole = children.length === 0 ? component : checked({ ...component, children });
      this.path.pop();
      this.path.at(-1)?.[1].push(whole);
    }
  }

  page(): Component {
    this.complete(1);
    const [page, children] = this.path[0] as [Component, Component[]];
    return checkPage(checked({ ...page, children }));
  }
}

/** The page that a text says; its lines have slot ids, or none of them has. Throws PageError, naming the line. */
export function parse(text: string): Component {
  const lines = text.split("\n");
  if (lines.length > SLOT_IDS.length) {
    throw new PageError(`the page has ${lines.length} lines; allowed: ${SLOT_IDS.length}`);
  }
  const path = new Path();
  let withIds = false;
  lines.forEach((line, index) => {
    try {
      const { indent, hasId, component } = readLine(line, SLOT_IDS[index] ?? "");
      if (index === 0) withIds = hasId;
      if (hasId !== withIds) {
        throw new PageError(
          "some lines have slot ids and some do not; allowed: ids on all of them or on none",
        );
      }
      const least = Math.min(index, 1);
      if (indent < least || indent > path.length) {
        throw new PageError(`it has ${indent} spaces before it; allowed: ${least} to ${path.length}`);
      }
      path.add(component, indent);
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
      throw new PageError(`line ${index + 1}, ${quote(line)}: ${error.message}`);
    }
  });
  return path.page();
}

/**
 * What can be shown of a text that is still being written, without slot ids; null if that is nothing.
 *
 * Lines that cannot be read, or do not fit where they stand, are left out. A line has the id that it has in the end.
 */
export function parseDraft(text: string): Component | null {
  const lines = text.split("\n").slice(0, SLOT_IDS.length);
  const open: { kind: string; cells: number }[] = [];
  const kept: { component: Component; indent: number }[] = [];
  lines.forEach((line, index) => {
    try {
      const id = SLOT_IDS[index] ?? "";
      const { indent, component } = readLine(line, id);
      const holder = indent === 0 ? undefined : open[indent - 1];
      const fits =
        holder === undefined
          ? indent === 0 && index === 0 && component.kind === "page"
          : indent <= MAX_DEPTH &&
            (kinds.get(holder.kind)?.children.has(component.kind) ?? false) &&
            (component.kind !== "record" || holder.cells === component.cells.length);
      if (!fits) return;
      open.splice(indent, open.length, { kind: component.kind, cells: component.cells.length });
      // Noise may look like an id.
      kept.push({ component: { ...component, id }, indent });
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
    }
  });
  if (kept.length === 0) return null;
  const path = new Path();
  for (const { component, indent } of kept) path.add(component, indent);
  return path.page();
}
