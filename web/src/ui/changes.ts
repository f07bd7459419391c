/** What has changed between two screens, in words. */
import { sortedWay } from "./actions";
import { get, kind, propertyOf, toText, walk, type Component } from "./tree";

/** Changes that are told one by one, and names in each. */
const MAX_TOLD = 3;
const MAX_NAMED = 2;

interface Step {
  readonly page: Component;
  /** What was said; of what was done by hand, what it came to. */
  readonly said: string;
  /** How long the model took; null or 0 for what was done by hand. */
  readonly ms: number | null;
}

/** Steps that are one line of a history, by their numbers. */
export interface Entry {
  readonly said: string;
  readonly first: number;
  readonly last: number;
}

function name({ kind, text, cells }: Component): string {
  const said = text || (kind === "record" ? (cells[0] ?? "") : "");
  return said === "" ? `the ${kind}` : `“${said}”`;
}

/** Words for a property that a component has, or has no longer. */
function verb(of: Component, property: string, word: string | undefined): string | null {
  switch (property) {
    case "on":
      if (of.kind === "tab") return word === undefined ? null : "opened";
      return word === undefined ? "unticked" : "ticked";
    case "hidden":
      return word === undefined ? "showed" : "hid";
    case "marked":
      return word === undefined ? "unmarked" : "marked";
    case "value":
      return `set to ${word ?? 0}:`;
    case "theme":
      return `${word ?? "light"} theme for`;
    default:
      return word === undefined ? `no ${property} any more:` : `made ${word}:`;
  }
}

class Changes {
  private readonly named = new Map<string, string[]>();

  add(verb: string, name: string): void {
    this.named.set(verb, [...(this.named.get(verb) ?? []), name]);
  }

  words(): string {
    const told = [...this.named].map(([verb, names]) => {
      const more = names.length - MAX_NAMED;
      const shown = more > 1 ? names.slice(0, MAX_NAMED) : names;
      return `${verb} ${shown.join(", ")}${more > 1 ? ` and ${more} more` : ""}`;
    });
    const more = told.length - MAX_TOLD;
    return told.slice(0, MAX_TOLD).join("; ") + (more > 0 ? `; and ${more} more changes` : "");
  }
}

/** What has changed, in words such as: ticked “Pack the books”; empty if nothing has. */
export function changesOf(before: Component, after: Component): string {
  const changes = new Changes();
  const [old, now] = [holders(before), holders(after)];
  for (const [id, { component, holder }] of old) {
    // What stood in it is gone with it.
    if (!now.has(id) && (holder === null || now.has(holder))) changes.add("removed", name(component));
  }
  for (const [id, { component, holder }] of now) {
    const was = old.get(id);
    if (was === undefined) {
      if (holder === null || old.has(holder)) changes.add("added", name(component));
      continue;
    }
    if (was.holder !== holder) changes.add("moved", name(component));
    compare(was.component, component, changes);
    order(was.component, component, after, changes);
    if (was.component.cells.join("|") !== component.cells.join("|")) {
      const table = holder === null ? undefined : now.get(holder)?.component;
      const tableWas = holder === null ? undefined : old.get(holder)?.component;
      // A column that is new or gone changes each record.
      if (table?.cells.length === tableWas?.cells.length) cells(was.component, component, table, changes);
    }
  }
  return changes.words();
}

function holders(page: Component): Map<string, { component: Component; holder: string | null }> {
  const found = new Map([[page.id, { component: page, holder: null as string | null }]]);
  for (const each of walk(page)) {
    for (const component of each.children) found.set(component.id, { component, holder: each.id });
  }
  return found;
}

/** What a component says, and its properties. */
function compare(before: Component, after: Component, changes: Changes): void {
  if (before.kind !== after.kind) changes.add("replaced", name(before));
  else if (before.text !== after.text) changes.add(`renamed ${name(before)} to`, name(after));
  const properties = new Set(
    [before, after].flatMap((each) => each.words.map((word) => propertyOf(kind(each), word) ?? "")),
  );
  for (const property of properties) {
    const word = get(after, property);
    if (get(before, property) === word) continue;
    const said = verb(after, property, word);
    if (said !== null) changes.add(said, after.kind === "page" ? "the screen" : name(after));
  }
}

function cells(before: Component, after: Component, table: Component | undefined, changes: Changes): void {
  const [added] = after.cells.filter((each) => !before.cells.includes(each));
  const [gone] = before.cells.filter((each) => !after.cells.includes(each));
  if (after.kind === "record") {
    after.cells.forEach((cell, i) => {
      if (cell !== before.cells[i]) changes.add(`${table?.cells[i] ?? ""} is now ${cell}:`, name(before));
    });
  } else if (after.kind !== "table") changes.add("changed", name(after));
  else if (added !== undefined && gone !== undefined) {
    changes.add(`renamed the column “${gone}” to`, `“${added}”`);
  } else changes.add(`${gone === undefined ? "added" : "removed"} the column`, `“${added ?? gone ?? ""}”`);
}

/** The order of what is in both. */
function order(before: Component, after: Component, page: Component, changes: Changes): void {
  const shared = (one: Component, other: Component) =>
    one.children.filter(({ id }) => other.children.some((child) => child.id === id));
  const [old, now] = [shared(before, after), shared(after, before)];
  const ids = (of: readonly Component[]) => of.map(({ id }) => id).join(",");
  if (ids(old) === ids(now)) return;
  const moved = now.filter((one) => {
    const others = (of: readonly Component[]) => ids(of.filter(({ id }) => id !== one.id));
    return others(old) === others(now);
  });
  if (moved.length === 0) {
    const columns = after.kind === "table" ? after.cells : after.kind === "list" ? ["name"] : [];
    const column = columns.find((each) => sortedWay(page, after.id, each) !== null);
    changes.add(column === undefined ? "put in another order:" : `sorted by ${column}:`, name(after));
  }
  // Of two that stand side by side, either may be the one that was moved.
  for (const each of moved) changes.add(moved.length > 1 ? "swapped" : "moved", name(each));
}

/** Whether boxes were ticked or unticked, and nothing else. */
function isTicking(before: Component, after: Component): boolean {
  const rest = (page: Component) => toText(page).replace(/^( *[a-z]+ checkbox) on/gm, "$1");
  return toText(before) !== toText(after) && rest(before) === rest(after);
}

/** A history in words; boxes that were ticked one after the other by hand are one entry. */
export function historyOf(steps: readonly Step[]): Entry[] {
  const entries: (Entry & { isTicks: boolean })[] = [];
  steps.forEach(({ page, said, ms }, i) => {
    const before = (ms ?? 0) > 0 ? undefined : steps[i - 1]?.page;
    const isTicks = before !== undefined && isTicking(before, page);
    const last = entries.at(-1);
    const from = steps[(last?.first ?? 0) - 1];
    if (isTicks && last?.isTicks === true && from !== undefined) {
      const all = changesOf(from.page, page) || "ticked and unticked again";
      entries.splice(-1, 1, { ...last, last: i, said: all });
      return;
    }
    const words = before === undefined ? "" : changesOf(before, page);
    entries.push({ said: words || said, first: i, last: i, isTicks });
  });
  return entries;
}
