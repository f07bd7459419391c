/**
 * What people do to a screen, as programs that change it: a closed set, so that a generated app works without code
 * that was generated. What none of them can mean is asked of the model.
 */
import { execute } from "./edits";
import { get, holderOf, kind, MAX_TYPED, PageError, slot, walk, type Component } from "./tree";

export type Action =
  | { type: "set"; slot: string; word: string }
  | { type: "toggle"; slot: string }
  | { type: "rename"; slot: string; says: readonly string[] }
  | { type: "add"; slot: string; text: string }
  | { type: "remove"; slot: string }
  | { type: "move"; slot: string; by: 1 | -1 }
  | { type: "sort"; slot: string; by: string }
  | { type: "filter"; slot: string; by: string }
  | { type: "theme"; name: string }
  | { type: "navigate"; slot: string }
  | { type: "ask"; text: string };

/** What is said of an effect that a screen refuses: all that people bring into one is text. */
export const MISFIT = `That text does not fit here: use up to ${MAX_TYPED} characters, without |.`;

/** What an action comes to: a program, a question to the model, or a hint to the person; fields to be emptied. */
export interface Effect {
  program?: string;
  ask?: string;
  say?: string;
  clears?: readonly string[];
}

/** What stands in the fields of a screen, by slot: that is no part of the tree. */
export type Values = Readonly<Record<string, string>>;

const THEMES = ["dark", "sepia", "contrast"];

/** The program of an action; null if it changes nothing. */
export function programOf(page: Component, action: Action): string | null {
  switch (action.type) {
    case "set":
      return `set ${action.slot} ${action.word}`;
    case "toggle": {
      const component = slot(page, action.slot);
      if (component === undefined) return null;
      return `${get(component, "on") === undefined ? "set" : "clear"} ${action.slot} on`;
    }
    case "rename": {
      const component = slot(page, action.slot);
      return component === undefined ? null : renaming(page, component, action.says.map(tidy));
    }
    case "add":
      return addition(page, action.slot, action.text);
    case "remove":
      return `del ${action.slot}`;
    case "move": {
      const beside = neighbour(page, action.slot, action.by);
      return beside === undefined ? null : `swap ${action.slot} ${beside.id}`;
    }
    case "sort":
      return `sort ${action.slot} ${sortedWay(page, action.slot, action.by) === "up" ? "down" : "up"} ${action.by}`;
    case "filter": {
      const holder = slot(page, action.slot);
      return holder === undefined ? null : filtering(holder, action.by);
    }
    case "theme":
      return THEMES.includes(action.name) ? `set ${page.id} ${action.name}` : `clear ${page.id} theme`;
    case "navigate": {
      const tabs = holderOf(page, action.slot);
      return tabs === undefined ? null : `clear ${tabs.id}* on\nset ${action.slot} on`;
    }
    case "ask":
      return null;
  }
}

/** What a program may say of what was typed. */
export function tidy(text: string): string {
  return text.replaceAll("|", "/").replace(/\s+/gu, " ").trim();
}

/** What an entry says from now on: its text, or one text for each column. */
function renaming(page: Component, of: Component, says: readonly string[]): string | null {
  if (of.kind !== "record") {
    const [text = ""] = says;
    return text === "" || text === of.text ? null : `text ${of.id}: ${text}`;
  }
  const columns = holderOf(page, of.id)?.cells ?? [];
  const lines = columns.flatMap((column, index) => {
    const said = says[index] || "-";
    return said === of.cells[index] ? [] : [`cell ${of.id} ${column} | ${said}`];
  });
  return lines.length === 0 ? null : lines.join("\n");
}

function addition(page: Component, id: string, typed: string): string | null {
  const [holder, text] = [slot(page, id), tidy(typed)];
  if (holder === undefined || text === "") return null;
  if (holder.kind === "table") {
    return `add last ${id} record: ${[text, ...holder.cells.slice(1).map(() => "-")].join(" | ")}`;
  }
  return `add last ${id} ${holder.children.at(-1)?.kind ?? "checkbox"}: ${text}`;
}

function neighbour(page: Component, id: string, by: number): Component | undefined {
  const beside = holderOf(page, id)?.children ?? [];
  const shown = beside.filter((each) => each.id === id || get(each, "hidden") === undefined);
  return shown[shown.findIndex((each) => each.id === id) + by];
}

/** How a table's records stand by a column; null if in neither order, or all alike. */
export function sortedWay(page: Component, id: string, column: string): "up" | "down" | null {
  const order = (found: Component) =>
    slot(found, id)
      ?.children.map((child) => child.id)
      .join(",");
  const is = (way: string) => order(execute(page, `sort ${id} ${way} ${column}`)) === order(page);
  const [up, down] = [is("up"), is("down")];
  return up === down ? null : up ? "up" : "down";
}

const ALL = /^(?:all|any|every\w*|show all|alle)$/i;
const DONE = /\b(?:done|completed?|finished|checked|ticked)\b/i;
const OPEN = /\b(?:open|active|undone|pending|unfinished|to ?do|not done|left)\b/i;

/** Shows only those that are as a word says: done, open, with a cell, or with it in what they say. */
function filtering(holder: Component, by: string): string | null {
  const { id } = holder;
  if (holder.children.length === 0) return null;
  if (by === "" || ALL.test(by)) return `only ${id}*`;
  const wanted = by.toLowerCase();
  for (const [index, column] of holder.kind === "table" ? holder.cells.entries() : []) {
    const cell = holder.children
      .map((record) => record.cells[index] ?? "")
      .find((each) => each.toLowerCase() === wanted);
    if (cell !== undefined) return `only ${id}[${column} | ${cell}]`;
  }
  const canBeDone = holder.children.some((child) => kind(child).properties.includes("on"));
  if (canBeDone && OPEN.test(by)) return `only ${id}-on`;
  if (canBeDone && DONE.test(by)) return `only ${id}+on`;
  const says = (child: Component) => [child.text, ...child.cells].join(" ").toLowerCase().includes(wanted);
  const [shown, hidden] = [holder.children.filter(says), holder.children.filter((child) => !says(child))];
  const line = (name: string, children: readonly Component[], word: string) =>
    children.length === 0 ? [] : [`${name} ${children.map((child) => child.id).join(",")} ${word}`];
  return [...line("clear", shown, "hidden"), ...line("set", hidden, "hidden")].join("\n");
}

/** The list or table that a control is about: in the same group, else the last one before it, else the first. */
export function listFor(page: Component, id: string): Component | undefined {
  const isList = (each: Component) => each.kind === "list" || each.kind === "table";
  const inGroup = holderOf(page, id)?.children.find(isList);
  if (inGroup !== undefined) return inGroup;
  const slots = [...walk(page)];
  const at = slots.findIndex((each) => each.id === id);
  return slots.slice(0, at).findLast(isList) ?? slots.find(isList);
}

function fieldsBefore(page: Component, id: string): Component[] {
  const group = holderOf(page, id)?.children ?? [];
  const at = group.findIndex((each) => each.id === id);
  return group.slice(0, at).filter((each) => ["input", "select", "slider"].includes(each.kind));
}

/** What a button does, by what it says and what stands around it. */
export function press(page: Component, id: string, values: Values): Effect {
  const button = slot(page, id);
  if (button === undefined) return {};
  const said = button.text.toLowerCase();
  const list = listFor(page, id);
  const fields = fieldsBefore(page, id);
  const clears = fields.map((field) => field.id);
  const holder = holderOf(page, id);
  if (fields.length > 0 && list?.kind === "table" && !/^(?:search|find|filter)/.test(said)) {
    const program = recordOf(list, fields, values);
    if (program !== null) return { program, clears };
  }
  if (/^(?:\+|add|new|create|insert|save|ok$)/.test(said) && list !== undefined && fields.length <= 1) {
    const field = fields[0] ?? [...walk(page)].find((each) => each.kind === "input");
    if (field === undefined) return { ask: button.text };
    const program = addition(page, list.id, values[field.id] ?? "");
    return program === null
      ? { say: `Type in “${field.text}” what to add` }
      : { program, clears: [field.id] };
  }
  const theme = /\b(dark|light|sepia|contrast)\b/.exec(said)?.[1];
  if (theme !== undefined) {
    const isOn = get(page, "theme") === theme;
    return { program: programOf(page, { type: "theme", name: isOn ? "light" : theme }) ?? "" };
  }
  if (/^(?:reset|cancel)\b/.test(said) && clears.length > 0) return { clears };
  if (holder?.kind === "card" && /^(?:delete|remove|close|dismiss)$/.test(said))
    return { program: `del ${holder.id}` };
  if (holder?.kind === "card" && /^(?:copy|duplicate)$/.test(said)) return { program: `copy ${holder.id}` };
  const program = list === undefined ? null : ofList(list, said, fields, values);
  if (program !== null) return tried(page, program);
  if (fields.length > 0) return { say: submission(button, fields, values) };
  return { ask: button.text + (holder?.kind === "card" ? `: ${holder.text}` : "") };
}

/** What is said of a form that has nowhere to go; what was typed stays, and no model makes something up. */
function submission(button: Component, fields: Component[], values: Values): string {
  const missing = fields.find((field) => get(field, "required") !== undefined && !values[field.id]?.trim());
  if (missing !== undefined) return `Fill in “${missing.text}”`;
  return `“${button.text}” does nothing here: apps made on this page send nothing anywhere. What you typed stays.`;
}

function tried(page: Component, program: string): Effect {
  try {
    execute(page, program);
    return { program };
  } catch (error) {
    if (error instanceof PageError) return { say: "There is nothing to do that to" };
    throw error;
  }
}

function ofList(list: Component, said: string, fields: Component[], values: Values): string | null {
  const remove = /^(?:clear|delete|remove|empty)\b/.test(said);
  if (remove && DONE.test(said)) return `del ${list.id}+on`;
  if (remove && /\b(?:all|everything|list)\b/.test(said)) return `del ${list.id}*`;
  if (/^sort\b/.test(said)) {
    const column = list.cells.find((each) => said.includes(each.toLowerCase())) ?? list.cells[0] ?? "name";
    return `sort ${list.id} up ${column}`;
  }
  if (/^(?:untick|uncheck|reset|clear)\b/.test(said)) return `clear ${list.id}* on`;
  if (/^(?:tick|check|complete|finish|mark)\b.*\ball\b/.test(said)) return `set ${list.id}* on`;
  if (/^(?:search|find|filter)\b/.test(said) && fields[0] !== undefined) {
    return filtering(list, values[fields[0].id] ?? "");
  }
  if (/^(?:show|only|view)?\s*(?:all|open|active|done|completed)$/.test(said)) {
    return filtering(list, said.replace(/^(?:show|only|view)\s*/, ""));
  }
  return null;
}

/** A record of what was typed, if all of the fields are columns. */
function recordOf(table: Component, fields: Component[], values: Values): string | null {
  const names = table.cells.map((column) => column.toLowerCase());
  if (!fields.every((field) => names.includes(field.text.toLowerCase()))) return null;
  const cells = names.map((name) => {
    const field = fields.find((each) => each.text.toLowerCase() === name);
    return (field === undefined ? "" : tidy(values[field.id] ?? "")) || "-";
  });
  return cells.every((cell) => cell === "-") ? null : `add last ${table.id} record: ${cells.join(" | ")}`;
}

/** What Enter in a field does: the button behind it, else what it is for. */
export function enter(page: Component, id: string, values: Values): Effect {
  const field = slot(page, id);
  const group = holderOf(page, id)?.children ?? [];
  const button = group
    .slice(group.findIndex((each) => each.id === id))
    .find((each) => each.kind === "button");
  const list = listFor(page, id);
  if (field !== undefined && list !== undefined && get(field, "type") === "search") {
    return { program: filtering(list, values[id] ?? "") ?? "" };
  }
  if (button !== undefined) return press(page, button.id, values);
  const program = list === undefined ? null : addition(page, list.id, values[id] ?? "");
  return program === null ? {} : { program, clears: [id] };
}

/** What a choice does: shows only some of a list, sorts it, or changes the theme; most are just part of a form. */
export function choose(page: Component, id: string, option: string): Effect {
  const field = slot(page, id);
  if (field === undefined) return {};
  const wanted = option.toLowerCase();
  if (THEMES.includes(wanted) || wanted === "light") {
    return { program: programOf(page, { type: "theme", name: wanted }) ?? "" };
  }
  const list = listFor(page, id);
  if (list === undefined) return {};
  if (/\b(?:sort|order)/i.test(field.text)) {
    const by =
      list.cells.find((column) => column.toLowerCase() === wanted) ?? (list.kind === "list" ? "name" : null);
    return by === null ? {} : { program: `sort ${list.id} up ${by}` };
  }
  const program = filtering(list, option);
  const hidesAll = program?.startsWith("set ") === true && !program.includes("\n");
  return program === null || hidesAll ? {} : { program };
}
