/**
 * Changes of an interface as programs, as `sfumato.ui.edits` has them in Python: a few short lines, each one operation
 * on named slots. A slot that no line names is the same object afterwards.
 */
import {
  checked,
  checkPage,
  get,
  holderOf,
  kind,
  newIds,
  PageError,
  propertyOf,
  quote,
  readLine,
  slot,
  unknown,
  visible,
  walk,
  withWord,
  type Component,
} from "./tree";

/** Why a command is not carried out: it names what is not there, what no component can, or what several are called. */
export const REFUSALS: readonly string[] = [
  "not on this screen",
  "a screen cannot do that",
  "more than one fits",
];

type Rewrite = (component: Component) => readonly Component[];
type Operation = (page: Component, ...given: string[]) => Component;

export function isRefusal(program: string): boolean {
  return program.startsWith("refuse: ") && REFUSALS.includes(program.slice("refuse: ".length));
}

/** The page that a program makes of one; the same page if it refuses. Throws PageError, naming the line. */
export function execute(page: Component, program: string): Component {
  if (isRefusal(program)) return page;
  for (const line of program.split("\n")) {
    const [name = ""] = line.split(" ", 1);
    const rest = line.slice(name.length + 1);
    try {
      const found = OPERATIONS.get(name);
      if (found === undefined) throw new PageError(unknown("operation", name, OPERATIONS.keys()));
      const match = found.form.exec(rest);
      if (match === null) {
        throw new PageError(`it is incomplete; allowed, for example: ${name} ${found.example}`);
      }
      page = checkPage(found.run(page, ...match.slice(1)));
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
      throw new PageError(`${quote(line)} does not fit: ${error.message}`);
    }
  }
  return page;
}

/** A component with some slots replaced by none, one or several; the same object where none is in it. */
function rewrite(component: Component, changes: ReadonlyMap<string, Rewrite>): readonly Component[] {
  const children = component.children.flatMap((child) => rewrite(child, changes));
  const same =
    children.length === component.children.length &&
    children.every((child, index) => child === component.children[index]);
  const result = same ? component : checked({ ...component, children });
  return changes.get(component.id)?.(result) ?? [result];
}

function apply(page: Component, ids: Iterable<string>, change: Rewrite): Component {
  const [result] = rewrite(page, new Map([...ids].map((id) => [id, change])));
  if (result === undefined) throw new PageError("the page itself cannot be deleted; allowed: slots on it");
  return result;
}

function find(page: Component, id: string): Component {
  const found = slot(page, id);
  if (found !== undefined) return found;
  const ids = [...walk(page)].map((each) => each.id).join(", ");
  throw new PageError(`there is no slot ${quote(id)}; allowed: ${ids}`);
}

function findHolder(page: Component, id: string): Component {
  find(page, id);
  const holder = holderOf(page, id);
  if (holder !== undefined) return holder;
  throw new PageError("the page itself cannot be moved, copied or deleted; allowed: slots on it");
}

function columnOf(table: Component, name: string): number {
  const index = table.kind === "table" ? table.cells.indexOf(name) : -1;
  if (index >= 0) return index;
  throw new PageError(
    `${table.kind} ${table.id} has no column ${quote(name)}; allowed: ${table.cells.join(", ") || "a table"}`,
  );
}

/** The components that a target names, in their order; of those by a condition perhaps none. Throws PageError. */
export function select(page: Component, target: string): readonly Component[] {
  const match = /^([a-z]{1,2})(?:(\*)(-?)([1-9]?)|([+-])([a-z]+)|\[(?:([^\n]+) \| )?([^\n]+)\])$/u.exec(
    target,
  );
  if (match === null) return [...new Set(target.split(","))].map((id) => find(page, id));
  const [, id = "", everything, fromEnd, number, sign, name = "", column, cell] = match;
  const holder = find(page, id);
  if (number) {
    const shown = visible(holder.children);
    const count = Number(number);
    if (count > shown.length) {
      throw new PageError(`${holder.kind} ${id} shows no ${number}; allowed: up to ${shown.length}`);
    }
    return fromEnd ? shown.slice(-count) : shown.slice(0, count);
  }
  if (everything !== undefined) return holder.children;
  if (column !== undefined) {
    const index = columnOf(holder, column);
    return holder.children.filter((record) => record.cells[index] === cell);
  }
  if (cell !== undefined) {
    if (holder.kind !== "table") throw new PageError(`${holder.kind} ${id} has no records; allowed: a table`);
    return holder.children.filter((record) => record.cells.includes(cell));
  }
  const able = holder.children.filter((child) => kind(child).properties.includes(name));
  if (able.length === 0) {
    throw new PageError(
      `nothing in ${holder.kind} ${id} can be ${quote(name)}; allowed: a property of what is in it`,
    );
  }
  return able.filter((child) => (get(child, name) !== undefined) === (sign === "+"));
}

const idsOf = (components: readonly Component[]) => components.map(({ id }) => id);

function set(page: Component, target: string, word: string): Component {
  return apply(page, idsOf(select(page, target)), (component) => {
    const name = propertyOf(kind(component), word);
    if (name === undefined) {
      const allowed = [...kind(component).words.keys()].join(", ");
      throw new PageError(`${component.kind} ${component.id} cannot be ${quote(word)}; allowed: ${allowed}`);
    }
    return [checked({ ...component, words: withWord(component, name, word) })];
  });
}

function clear(page: Component, target: string, name: string): Component {
  return apply(page, idsOf(select(page, target)), (component) => {
    const known = kind(component).properties;
    if (!known.includes(name)) {
      throw new PageError(
        `${component.kind} ${component.id} has no ${quote(name)}; allowed: ${known.join(", ")}`,
      );
    }
    return [checked({ ...component, words: withWord(component, name, null) })];
  });
}

function text(page: Component, id: string, said: string): Component {
  find(page, id);
  return apply(page, [id], (component) => [checked({ ...component, text: said })]);
}

function put(cells: readonly string[], index: number, ...values: string[]): readonly string[] {
  return [...cells.slice(0, index), ...values, ...cells.slice(index + 1)];
}

function cell(page: Component, id: string, name: string, value: string): Component {
  const { cells } = find(page, id);
  const table = findHolder(page, id);
  const isCell = !table.cells.includes(name) && cells.filter((said) => said === name).length === 1;
  const index = isCell ? cells.indexOf(name) : columnOf(table, name);
  return apply(page, [id], (record) => [checked({ ...record, cells: put(record.cells, index, value) })]);
}

function place(page: Component, where: string, id: string, added: Component): Component {
  const inside = where === "first" || where === "last";
  const holder = inside ? find(page, id) : findHolder(page, id);
  const at = holder.children.findIndex((child) => child.id === id);
  const index = { first: 0, last: holder.children.length, before: at, after: at + 1 }[where] ?? 0;
  const children = [...holder.children.slice(0, index), added, ...holder.children.slice(index)];
  return apply(page, [holder.id], (component) => [checked({ ...component, children })]);
}

function add(page: Component, where: string, id: string, line: string): Component {
  const { hasId, component } = readLine(line, newIds(page, 1)[0] ?? "");
  if (hasId) throw new PageError("the new component has an id; allowed: none, it gets one");
  return place(page, where, id, component);
}

function remove(page: Component, target: string): Component {
  const ids = idsOf(select(page, target));
  for (const id of ids) findHolder(page, id);
  return apply(page, ids, () => []);
}

function move(page: Component, id: string, where: string, other: string): Component {
  findHolder(page, id);
  const moved = find(page, id);
  if (slot(moved, other) !== undefined) {
    throw new PageError(`${other} is in ${id} itself; allowed: a slot outside of it`);
  }
  find(page, other);
  return place(
    apply(page, [id], () => []),
    where,
    other,
    moved,
  );
}

function swap(page: Component, one: string, other: string): Component {
  const [first, second] = [find(page, one), find(page, other)];
  if (findHolder(page, one) !== findHolder(page, other)) {
    throw new PageError(`${one} and ${other} are not in the same slot; allowed: two side by side`);
  }
  return apply(page, [one, other], ({ id }) => [id === one ? second : first]);
}

function copy(page: Component, id: string): Component {
  const original = find(page, id);
  const ids = newIds(page, [...walk(original)].length)[Symbol.iterator]();
  const renamed = (component: Component): Component => ({
    ...component,
    id: ids.next().value ?? "",
    children: component.children.map(renamed),
  });
  return place(page, "after", id, renamed(original));
}

type Key = readonly [number, number, string];

/** Numbers before texts, by the first number where a text starts with one; texts whatever their case. */
function sortKey(said: string): Key {
  const match = /^[^\p{L}\p{N}_-]*(-?\d+(?:\.\d+)?)/u.exec(said);
  const folded = said.toUpperCase().toLowerCase().replaceAll("ς", "σ");
  return [match === null ? 1 : 0, match === null ? 0 : Number(match[1]), folded];
}

function compareTexts(one: string, other: string): number {
  const [first, second] = [Array.from(one), Array.from(other)];
  for (let i = 0; i < Math.min(first.length, second.length); i++) {
    const difference = (first[i]?.codePointAt(0) ?? 0) - (second[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return first.length - second.length;
}

function sort(page: Component, id: string, way: string, name: string): Component {
  const holder = find(page, id);
  let keyOf: (child: Component) => Key;
  if (holder.kind === "table") {
    const index = columnOf(holder, name);
    keyOf = (child) => sortKey(child.cells[index] ?? "");
  } else if (holder.kind !== "list") {
    throw new PageError(`${id} is a ${holder.kind}; allowed: a list or a table`);
  } else if (name === "name") {
    keyOf = (child) => sortKey(child.text);
  } else if (name === "on" || name === "marked") {
    keyOf = (child) => [get(child, name) === undefined ? 0 : 1, 0, ""];
  } else {
    throw new PageError(`a list cannot be sorted by ${quote(name)}; allowed: name, on, marked`);
  }
  const sign = way === "down" ? -1 : 1;
  const children = holder.children
    .map((child) => ({ child, key: keyOf(child) }))
    .sort(
      ({ key: one }, { key: other }) =>
        sign * (one[0] - other[0] || one[1] - other[1] || compareTexts(one[2], other[2])),
    )
    .map(({ child }) => child);
  return apply(page, [id], (component) => [{ ...component, children }]);
}

function only(page: Component, target: string): Component {
  const shown = new Set(idsOf(select(page, target)));
  const id = /^[a-z]+/.exec(target)?.[0] ?? "";
  return apply(page, idsOf(find(page, id).children), (component) => {
    const word = shown.has(component.id) ? null : "hidden";
    return [checked({ ...component, words: withWord(component, "hidden", word) })];
  });
}

function changeCells(page: Component, id: string, change: (part: Component) => readonly string[]): Component {
  return apply(page, [id], (table) => {
    const children = table.children.map((record) => checked({ ...record, cells: change(record) }));
    return [checked({ ...table, cells: change(table), children })];
  });
}

function column(page: Component, id: string, name: string, value: string): Component {
  const table = find(page, id);
  if (table.kind !== "table") throw new PageError(`${id} is a ${table.kind}; allowed: a table`);
  return changeCells(page, id, (part) => [...part.cells, part.kind === "table" ? name : value]);
}

function drop(page: Component, id: string, name: string): Component {
  const index = columnOf(find(page, id), name);
  return changeCells(page, id, (part) => put(part.cells, index));
}

function head(page: Component, id: string, name: string, renamed: string): Component {
  const index = columnOf(find(page, id), name);
  return apply(page, [id], (table) => [checked({ ...table, cells: put(table.cells, index, renamed) })]);
}

const ID = "([a-z]{1,2})";
const SAID = "([^\\n]+)";
const CONDITION = "[a-z]{1,2}(?:\\*(?:-?[1-9])?|[+-][a-z]+|\\[[^\\n]+\\])";
const TARGET = `([a-z]{1,2}(?:,[a-z]{1,2})*|${CONDITION})`;
const PLACE = "(first|last|before|after)";

const OPERATIONS = new Map<string, { form: RegExp; example: string; run: Operation }>(
  (
    [
      ["set", `${TARGET} ([a-z]+|\\d+)`, "d red", set],
      ["clear", `${TARGET} ([a-z]+)`, "d color", clear],
      ["text", `${ID}: ${SAID}`, "d: Save", text],
      ["cell", `${ID} ${SAID} \\| ${SAID}`, "r Price | 12", cell],
      ["add", `${PLACE} ${ID} ([^ ][^\\n]*)`, "last c checkbox: Milk", add],
      ["del", TARGET, "d,f", remove],
      ["move", `${ID} ${PLACE} ${ID}`, "d first c", move],
      ["swap", `${ID} ${ID}`, "d e", swap],
      ["copy", ID, "d", copy],
      ["sort", `${ID} (up|down) ${SAID}`, "c up name", sort],
      ["only", `(${CONDITION})`, "c-on", only],
      ["column", `${ID} ${SAID} \\| ${SAID}`, "t Priority | low", column],
      ["drop", `${ID} ${SAID}`, "t Price", drop],
      ["head", `${ID} ${SAID} \\| ${SAID}`, "t Price | Cost", head],
    ] satisfies [string, string, string, Operation][] as [string, string, string, Operation][]
  ).map(([name, form, example, run]) => [name, { form: new RegExp(`^(?:${form})$`, "u"), example, run }]),
);
