import { expect, test } from "vitest";
import { Api } from "../src/core/api";
import { setLooks } from "../src/core/preferences";
import { miscounts, NotUnderstood, replaces, surplus, unnamed, write } from "../src/ui/author";
import { execute } from "../src/ui/edits";
import { parse, toText } from "../src/ui/tree";

const PAGE = parse("a page\n b list\n  c checkbox: Milk\n  d checkbox: Bread");

/** A model that gives these answers in turn, and what it was asked. */
function scripted(...texts: string[]): [Api, Record<string, unknown>[]] {
  return ending("stop", ...texts);
}

function ending(reason: string, ...texts: string[]): [Api, Record<string, unknown>[]] {
  const asked: Record<string, unknown>[] = [];
  const fetcher = (_: unknown, init?: RequestInit) => {
    const text = texts[asked.length] ?? "";
    asked.push(JSON.parse(init?.body as string) as Record<string, unknown>);
    const base = { canvas_id: "c", rev: 0 };
    const events = [
      { ...base, seq: 0, type: "canvas.commit", block: 0, chars: [0, text.length], text },
      { ...base, seq: 1, type: "canvas.done", status: "done", text, finish_reason: reason },
    ];
    return Promise.resolve(new Response(events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("")));
  };
  return [new Api("", fetcher, ""), asked];
}

test("a program that changes nothing, or does not fit, is asked for again in another way", async () => {
  const [api, asked] = scripted("clear c on", "set z on", "set c on");
  const { page, program } = await write(api, "ui", "tick the milk", { page: PAGE, seed: 7 });
  expect(program).toBe("set c on");
  expect(toText(page)).toContain("checkbox on: Milk");
  expect(asked.map(({ seed }) => seed)).toEqual([7, 8, 9]);
  expect(asked.map(({ temperature = null }) => temperature)).toEqual([null, 0.9, 0.9]);
});

test("a program that changes nothing is believed the second time", async () => {
  const [api, asked] = scripted("clear c on", "clear c on", "set c on");
  const { page } = await write(api, "ui", "the milk is not bought", { page: PAGE });
  expect(toText(page)).toBe(toText(PAGE));
  expect(asked).toHaveLength(2);
});

test("what never fits is not shown", async () => {
  const [api, asked] = scripted(...Array<string>(9).fill("set z on"));
  await expect(write(api, "ui", "tick it", { page: PAGE })).rejects.toThrow(NotUnderstood);
  expect(asked).toHaveLength(5);
});

test("what is counted is visible", async () => {
  const hidden = parse("a page\n b list\n  c checkbox: Milk\n  d checkbox hidden: Bread\n  e checkbox: Eggs");
  const [api, asked] = scripted("del d", "del e");
  const { page } = await write(api, "ui", "delete the second", { page: hidden });
  expect(toText(page)).not.toContain("Eggs");
  expect(asked).toHaveLength(2);
  expect(miscounts(hidden, "del d", "delete the bread")).toBe(false);
  expect(miscounts(hidden, "clear d hidden", "show the second one")).toBe(false);
  expect(miscounts(hidden, "set c,d on", "tick item 2")).toBe(true);
});

test("a refusal is passed on", async () => {
  const [api] = scripted("refuse: not on this screen");
  await expect(write(api, "ui", "tick the eggs", { page: PAGE })).rejects.toThrow("not on this screen");
  const [other] = scripted("refuse: a screen cannot do that");
  await expect(write(other, "ui", "what is the time")).rejects.toThrow("declines: a screen cannot do that");
});

test("a new screen is dark where the studio is, until it is told to be light", async () => {
  setLooks({ theme: "dark" });
  const [api] = scripted("a page\n b header: Tea", "clear a theme");
  const { page } = await write(api, "ui", "tea");
  expect(toText(page)).toBe("a page dark\n b header: Tea");
  expect(toText((await write(api, "ui", "light mode", { page })).page)).toBe("a page\n b header: Tea");
  setLooks({ theme: "system" });
});

test("what holds other things is deleted only if it is named", async () => {
  const page = parse("a page\n b list: Shopping\n  c checkbox: Milk\n  d checkbox: Bread\n e text: Hello");
  const [api, asked] = scripted("del b");
  await expect(write(api, "ui", "delete eggs", { page })).rejects.toThrow("would delete the list “Shopping”");
  expect(asked).toHaveLength(1);
  expect(unnamed(page, "del b", "remove the shopping")).toBe(null);
  expect(unnamed(page, "del b", "delete everything here")).toBe(null);
  expect(unnamed(page, "del b", "drop the list")).toBe(null);
  expect(unnamed(page, "del c", "delete eggs")).toBe(null);
  expect(unnamed(page, "del e,b", "delete hello")?.id).toBe("b");
});

test("what the model cannot copy is not asked for", async () => {
  for (const said of ["add Молоко", "add 牛乳", "add 🍕", "add a ♥"]) {
    const [api, asked] = scripted("add last b checkbox: Milk");
    await expect(write(api, "ui", said, { page: PAGE })).rejects.toThrow("Latin letters");
    expect(asked).toHaveLength(0);
  }
  for (const said of ["add Käse", "add 3 × 5 – “café” for 2 €", "add item #1 ©", "add Łódź"]) {
    const [api] = scripted("add last b checkbox: Cheese");
    expect((await write(api, "ui", said, { page: PAGE })).program).toBe("add last b checkbox: Cheese");
  }
});

test("half a character is not shown", () => {
  expect(() => parse("a page\n b header: Hang ph\ufffd")).toThrow("U+FFFD");
});

test("a screen that was cut off is not shown", async () => {
  const cut = "a page\n b list\n  c checkbox: Milk\n  d checkbox: Mi";
  const [api, asked] = ending("length", ...Array<string>(9).fill(cut));
  await expect(write(api, "ui", "a list with twelve items")).rejects.toThrow("no screen that can be shown");
  expect(asked).toHaveLength(5);
});

test("a new screen lists as many things as were asked for", async () => {
  const items = (count: number) => Array.from({ length: count }, (_, i) => `  checkbox: Thing ${i}`);
  const page = (count: number) => ["page", " header: Tea", " list", ...items(count)].join("\n");
  const [api, asked] = scripted(page(5));
  const made = await write(api, "ui", "a list about tea with four items, two done");
  expect(toText(made.page).split("\n")).toHaveLength(7);
  expect(toText(made.page)).not.toContain("Thing 4");
  expect(asked).toHaveLength(1);
  const [few, again] = scripted(page(2), page(3), page(4));
  await write(few, "ui", "a list about tea with 4 things to do");
  expect(again.map(({ seed }) => seed)).toEqual([0, 1]);
  const parsed = parse(page(3));
  expect(surplus(parsed, "three tasks")).toBe(0);
  expect(surplus(parsed, "a list with 12 entries")).toBe(-9);
  expect(surplus(parsed, "a list of milk and bread")).toBe(null);
  expect(surplus(parsed, "five items and two tasks")).toBe(null);
  expect(surplus(parse("page\n list\n  item: A\n list\n  item: B"), "five items")).toBe(null);
});

test("texts that were typed by hand may be longer than what models read", async () => {
  const long = "Call the plumber about the leaking kitchen tap before Friday";
  const page = execute(PAGE, `text c: ${long}`);
  expect(() => execute(PAGE, `text c: ${"x".repeat(121)}`)).toThrow("1 to 120 characters");
  const [api, asked] = scripted("set c on");
  const made = await write(api, "ui", "tick the first", { page });
  expect(asked[0]?.prompt).toContain("checkbox: Call the plumber about the\n");
  expect(toText(made.page)).toContain(`checkbox on: ${long}`);
});

test("what is added replaces nothing", async () => {
  const [api, asked] = scripted("text c: Butter", "add last b checkbox: Butter");
  const made = await write(api, "ui", "add butter", { page: PAGE });
  expect(toText(made.page)).toContain("Milk");
  expect(toText(made.page)).toContain("Butter");
  expect(asked).toHaveLength(2);
  const after = (program: string) => [PAGE, execute(PAGE, program)] as const;
  expect(replaces(...after("set c on"), "add a tick to milk")).toBe(false);
  expect(replaces(...after("set a dark"), "add a dark theme")).toBe(false);
  expect(replaces(...after("del d"), "add butter")).toBe(true);
  const table = parse("a page\n b table: Name | Price\n  c record: Tea | 12");
  expect(replaces(table, execute(table, "column b Notes | -"), "add a column for notes")).toBe(false);
  expect(replaces(table, execute(table, "cell c Name | Milk"), "add milk")).toBe(true);
  expect(replaces(...after("text c: Butter"), "add butter and rename milk")).toBe(false);
  expect(replaces(...after("text c: Butter"), "call the milk butter")).toBe(false);
});
