import { describe, expect, test } from "vitest";
import { press } from "../src/ui/actions";
import { changesOf, historyOf } from "../src/ui/changes";
import { execute } from "../src/ui/edits";
import { suggestions } from "../src/ui/suggestions";
import { parse } from "../src/ui/tree";

const LIST = parse(`a page: House
 b header: House
 c list
  d checkbox on: Keys
  e checkbox: Books
  f checkbox: Van
 g button: Go`);
const TABLE = parse(`a page: Shop
 b table: Name | Price
  c record: Tea | 2
  d record: Coffee | 9
  e record: Milk | 20`);

test.each([
  ["set e on", "ticked “Books”"],
  ["clear d on", "unticked “Keys”"],
  ["set c* on", "ticked “Books”, “Van”"],
  ["text d: Hand over the keys", "renamed “Keys” to “Hand over the keys”"],
  ["del e", "removed “Books”"],
  ["del c", "removed the list"],
  ["add last c checkbox: Milk", "added “Milk”"],
  ["only c-on", "hid “Keys”"],
  ["sort c up name", "swapped “Books”, “Keys”"],
  ["sort c down name", "moved “Van”"],
  ["move d last c", "moved “Keys”"],
  ["set a dark", "dark theme for the screen"],
  ["set g green", "made green: “Go”"],
  ["set e on\ndel f", "removed “Van”; ticked “Books”"],
])("%s is told as: %s", (program, said) => {
  expect(changesOf(LIST, execute(LIST, program))).toBe(said);
});

test.each([
  ["cell c Price | 15", "Price is now 15: “Tea”"],
  ["column b Stock | 1", "added the column “Stock”"],
  ["drop b Price", "removed the column “Price”"],
  ["head b Price | Cost", "renamed the column “Price” to “Cost”"],
  ["sort b down Price", "sorted by Price: the table"],
])("in a table %s is told as: %s", (program, said) => {
  expect(changesOf(TABLE, execute(TABLE, program))).toBe(said);
});

test("no change has no words", () => {
  expect(changesOf(LIST, LIST)).toBe("");
});

describe("a history", () => {
  const by = (page: typeof LIST, program: string, ms: number | null = null) => ({
    page: execute(page, program),
    said: program,
    ms,
  });
  const made = { page: LIST, said: "a list about the house", ms: 300 };
  test("has what was done by hand in words, and ticks as one entry", () => {
    const one = by(LIST, "set e on");
    const two = by(one.page, "set f on");
    const three = by(two.page, "del d");
    const four = by(three.page, "clear e on");
    const said = historyOf([made, one, two, three, four]);
    expect(said.map(({ said, first, last }) => [said, first, last])).toEqual([
      ["a list about the house", 0, 0],
      ["ticked “Books”, “Van”", 1, 2],
      ["removed “Keys”", 3, 3],
      ["unticked “Books”", 4, 4],
    ]);
  });
  test("does not hide what was said, nor ticks that came to nothing", () => {
    const one = by(LIST, "set e on", 100);
    const two = by(one.page, "clear e on");
    const three = by(two.page, "set e on");
    const said = historyOf([made, one, two, three]).map((each) => each.said);
    expect(said).toEqual(["a list about the house", "set e on", "ticked and unticked again"]);
  });
});

describe("the button of a form", () => {
  const form = parse("a page\n b input required: Name\n c input: Email\n d button: Send");
  test("sends nothing, and says so, without a model", () => {
    const { say, ask, program, clears } = press(form, "d", { b: "Bob", c: "" });
    expect(say).toMatch(/^“Send” does nothing here/);
    expect([ask, program, clears]).toEqual([undefined, undefined, undefined]);
  });
  test("asks for what is required", () => {
    expect(press(form, "d", { b: " ", c: "a@b.c" })).toEqual({ say: "Fill in “Name”" });
  });
  test("adds to a table that has its columns", () => {
    const page = parse(`a page\n b table: Name | Email\n c input: Name\n d input: Email\n e button: Book`);
    const values = { c: "Bob", d: "a@b.c" };
    expect(press(page, "e", values).program).toBe("add last b record: Bob | a@b.c");
  });
  test("without fields is asked of the model", () => {
    expect(press(LIST, "g", {})).toEqual({ ask: "Go" });
  });
});

test("suggestions fit the screen", () => {
  expect(suggestions(LIST)).toEqual([
    "sort by name",
    "dark mode",
    "show only the open ones",
    "delete the second",
  ]);
  expect(suggestions(execute(TABLE, "set a dark"))).toEqual([
    "sort by name",
    "light mode",
    "delete the second",
  ]);
  const form = parse("a page\n b input: Name\n c button: Send");
  expect(suggestions(form)).toEqual(["dark mode", "rename Send to Ready", "make the Send button green"]);
});
