import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { execute } from "../src/ui/edits";
import { parse, parseDraft, slot, toText, walk, type Component } from "../src/ui/tree";

interface Case {
  page: string;
  program: string;
  result?: string;
  error?: string;
}
// More of them: `python tests/record_ui.py 6000 /tmp/ui.json && UI_CASES=/tmp/ui.json npx vitest run tests/ui.test.ts`.
const file = process.env.UI_CASES ?? "tests/recorded_ui.json";
const cases = JSON.parse(readFileSync(file, "utf-8")) as Case[];

function outcome({ page, program }: Case): Pick<Case, "result" | "error"> {
  try {
    return { result: toText(execute(parse(page), program)) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

test("pages and programs mean what they mean in Python, errors included", () => {
  expect(cases.length).toBeGreaterThan(100);
  for (const given of cases) {
    const { error, result } = given;
    // Only Python looks for the nearest name, and only there are texts no longer than models write them.
    const expected =
      error === undefined
        ? { result }
        : {
            error: error
              .replace(/; did you mean .+?\? allowed/, "; allowed")
              .replace(/1 to (?:16|32) characters/, "1 to 120 characters"),
          };
    expect({ ...given, ...outcome(given) }).toEqual({
      page: given.page,
      program: given.program,
      ...expected,
    });
  }
});

const PAGE = parse(`a page: Shop
 b header: Shop
 c list
  d checkbox on: Milk
  e checkbox red: bread
 f table: Name | Price
  g record: Tea | 12`);

test("what no line names stays the same object", () => {
  const after = execute(PAGE, "set d blue");
  const kept = (page: Component) => new Set(walk(page));
  const same = [...kept(after)].filter((each) => kept(PAGE).has(each)).map(({ id }) => id);
  expect(same.join("")).toBe("befg");
  expect(slot(after, "d")?.words).toEqual(["on", "blue"]);
});

describe("a draft", () => {
  const text = "page: Trip\n header: Trip\n list\n  checkbox on: Tent\n  checkbox: Map";
  test("that is whole is the page", () => {
    expect(parseDraft(text)).toEqual(parse(text));
  });
  test("shows what can be read, with the ids of the end", () => {
    const draft = parseDraft(
      "page: Trip\n hea#er: Trip\n list\n  checkb~x on: Tent\n  checkbox: Map\n  chec",
    );
    expect(draft === null ? "" : toText(draft)).toBe("a page: Trip\n c list\n  e checkbox: Map");
  });
  test("of noise is nothing", () => {
    expect(parseDraft("pa~e: x\n list")).toBeNull();
    // Ids that noise has written are none.
    expect(parseDraft("page\n a list\n a list")).toEqual(parse("page\n list\n list"));
    expect(parseDraft("")).toBeNull();
  });
});
