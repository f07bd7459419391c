import { describe, expect, test } from "vitest";
import {
  closed,
  emptyDesktop,
  isSameContent,
  moved,
  opened,
  OWN_APPS,
  raised,
  restored,
  shortened,
  stored,
  withPage,
  type App,
} from "../src/core/desktop";
import { adopt, fileTree, pathsOf, unnamed } from "../src/core/file-tree";
import { within } from "../src/core/place";
import {
  FileError,
  FIRST_SYSTEM,
  findFile,
  readSystem,
  withFile,
  withoutFile,
  type System,
} from "../src/core/system";
import { run, transcript, withTurn } from "../src/core/terminal";
import { execute } from "../src/ui/edits";
import { parse, slot, toText, walk } from "../src/ui/tree";
import { randomly } from "./random";

const context = { clicks: [{ element: "d", type: "press", value: "" }], apps: ["Files", "Settings"] };
const paths = ({ files }: System) => files.map(({ path }) => path).sort();

function type(system: System, ...lines: string[]): { system: System; said: string } {
  let said = "";
  for (const line of lines) ({ system, said } = run(system, line, context));
  return { system, said };
}

describe("the terminal", () => {
  test("works on the files", () => {
    const { system } = type(
      FIRST_SYSTEM,
      "echo hello  there > a.txt",
      'echo "more of it" >> a.txt',
      "cp a.txt b.txt",
      "mkdir work",
      "mv b.txt work",
      "rm shopping.txt",
    );
    expect(type(system, "cat a.txt").said).toBe("hello there\nmore of it\n");
    expect(paths(system)).toEqual(["a.txt", "documents/plan.txt", "readme.txt", "work/b.txt"]);
    expect(type(system, "ls").said).toBe("documents/\nwork/\na.txt\nreadme.txt");
    expect(type(system, "rm work", "ls").said).not.toContain("work");
  });

  test.each([
    ["cat nothing.txt", "There is no file “nothing.txt”; ls lists them."],
    ["rm", "Usage: rm file."],
    ["mv readme.txt shopping.txt", "“shopping.txt” exists already; choose another name."],
    ["echo x > a/b/c", "“a/b/c” is too deep: folders hold files only, as in documents/plan.txt."],
    ["touch a|b", "“a|b” cannot be a name: use up to 32 letters, digits, spaces and . - _ , ( )."],
    ["mkdir readme.txt", "“readme.txt” exists already; choose another name."],
  ])("says what is wrong with %s", (line, expected) => {
    const { system, said } = type(FIRST_SYSTEM, line);
    expect(said).toBe(expected);
    expect(system).toBe(FIRST_SYSTEM);
  });

  test("passes on what is no command, and names who answered", () => {
    expect(run(FIRST_SYSTEM, "constructor", context).isForModel).toBe(true);
    expect(run(FIRST_SYSTEM, "who are you", context).isForModel).toBe(true);
    expect(run(FIRST_SYSTEM, "cd work", context).said).toBe("There is no command cd; help lists them.");
    expect(run(FIRST_SYSTEM, "open settings", context).opens).toBe("Settings");
    expect(type(FIRST_SYSTEM, "clicks").said).toBe('{"element":"d","type":"press","value":""}');
    const turns = withTurn([], { line: "2+2", said: "4", by: "tiny" });
    expect(transcript(turns)).toBe("$ 2+2\ntiny answers:\n4");
  });
});

describe("the file tree", () => {
  const page = fileTree(FIRST_SYSTEM);
  const slotOf = (path: string, on = page) => [...pathsOf(on)].find(([, each]) => each === path)?.[0] ?? "";

  test("shows files in their folders", () => {
    expect([...pathsOf(page).values()].sort()).toEqual(paths(FIRST_SYSTEM));
    expect(fileTree(FIRST_SYSTEM, page)).toBe(page);
  });

  test("is changed by programs, as any screen, and the files with it", () => {
    const renamed = execute(page, `text ${slotOf("shopping.txt")}: list.txt`);
    expect(findFile(adopt(FIRST_SYSTEM, page, renamed), "list.txt")?.text).toBe("bread\nbutter\napples\n");
    const gone = execute(page, `del ${slotOf("readme.txt")}`);
    const without = adopt(FIRST_SYSTEM, page, gone);
    expect(paths(without)).toEqual(["documents/plan.txt", "shopping.txt"]);
    // Undone, the file has its text again.
    const back = adopt(without, gone, page);
    expect(findFile(back, "readme.txt")).toEqual(findFile(FIRST_SYSTEM, "readme.txt"));
    const added = execute(page, "add last c item: documents/new.txt");
    const system = adopt(FIRST_SYSTEM, page, added);
    const shown = fileTree(system, added);
    expect(pathsOf(shown).get(slotOf("documents/new.txt", added))).toBe("documents/new.txt");
    expect(findFile(system, "documents/new.txt")?.text).toBe("");
  });

  test("is safe from a model that touches another file than the one that was named", () => {
    const after = adopt(FIRST_SYSTEM, page, execute(page, `del ${slotOf("readme.txt")}`));
    expect(unnamed("delete shopping.txt", FIRST_SYSTEM, after)).toEqual(["readme.txt"]);
    expect(unnamed("Delete README.txt", FIRST_SYSTEM, after)).toEqual([]);
    expect(unnamed("delete the first", FIRST_SYSTEM, after)).toEqual([]);
  });

  test("refuses a name that is taken or cannot be one", () => {
    const taken = execute(page, `text ${slotOf("shopping.txt")}: readme.txt`);
    expect(() => adopt(FIRST_SYSTEM, page, taken)).toThrow(FileError);
    const wrong = execute(page, `text ${slotOf("shopping.txt")}: a/b/c`);
    expect(() => adopt(FIRST_SYSTEM, page, wrong)).toThrow(/too deep/);
  });

  test("keeps the slot of each file that stays, whatever else happens", () => {
    const below = randomly(7);
    let [system, shown] = [FIRST_SYSTEM, page];
    for (let i = 0; i < 200; i++) {
      const before = new Map([...pathsOf(shown)].map(([id, path]) => [path, id]));
      const files = paths(system);
      const name = `${below(10) < 4 ? "work/" : ""}f${below(30)}.txt`;
      const chosen = files[below(Math.max(1, files.length))];
      system =
        below(10) < 6 || chosen === undefined
          ? withFile(system, name, String(i))
          : withoutFile(system, chosen);
      shown = fileTree(system, shown);
      expect([...pathsOf(shown).values()].sort()).toEqual(paths(system));
      for (const [id, path] of pathsOf(shown)) expect(before.get(path) ?? id).toBe(id);
      const ids = [...walk(shown)].map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    }
    expect(slot(shown, "e")?.text).toBe("New file");
    expect(toText(fileTree(system, shown))).toBe(toText(shown));
  });
});

test("what was kept is read; what cannot be is left out", () => {
  expect(readSystem(JSON.parse(JSON.stringify(FIRST_SYSTEM)))).toEqual(FIRST_SYSTEM);
  expect(readSystem({ files: [{ path: 1 }], folders: [] })).toBe(FIRST_SYSTEM);
  expect(readSystem({ files: [], folders: [], trash: [] }).files).toEqual([]);
});

describe("a window", () => {
  const room = { width: 1248, height: 560 };
  test("stays where its bar can be reached", () => {
    const place = { x: 100, y: 50, width: 420, height: 440 };
    expect(within(place, room)).toEqual(place);
    expect(within({ ...place, x: -200, y: -10 }, room)).toEqual({ ...place, x: 0, y: 0 });
    expect(within({ ...place, x: 5000, y: 5000 }, room)).toEqual({ ...place, x: 828, y: 516 });
    expect(within(place, { width: 300, height: 400 })).toEqual({ x: 0, y: 50, width: 300, height: 400 });
  });

  test("opens beside the others as long as there is room", () => {
    const app = { name: "Tea", sentence: "tea" };
    let desktop = emptyDesktop();
    for (let i = 0; i < 3; i++) desktop = opened(desktop, app, { ...room, height: 1000 });
    // The second is closed: its place is free.
    desktop = { ...desktop, windows: desktop.windows.filter(({ id }) => id !== 2) };
    for (let i = 0; i < 5; i++) desktop = opened(desktop, app, { ...room, height: 1000 });
    const places = desktop.windows.map(({ place: { x, y } }) => `${x} ${y}`);
    expect(places).toEqual(["16 16", "836 16", "426 16", "16 472", "426 472", "836 472", "40 56"]);
  });

  test("has a name of whole words", () => {
    const name = shortened("to-do list about the garden with six items");
    expect(name).toBe("to-do list about the garden with six …");
    expect(shortened("garden")).toBe("garden");
  });
});

describe("what is kept of a desktop", () => {
  const app: App = { name: "Gym", sentence: "a list" };
  const page = (text: string) => parse(`a page\n b list\n  c item: ${text}`);
  const shown = (kept: unknown) =>
    restored(kept).windows.map(({ pages }) => pages.all.map((each) => toText(each)));
  const room = { width: 1000, height: 500 };

  test("has the pages that can be undone", () => {
    let desktop = opened(emptyDesktop(), app, room);
    for (let i = 0; i < 25; i++) desktop = withPage(desktop, 1, page(`x${i}`));
    desktop = moved(desktop, 1, -2);
    const back = restored(JSON.parse(JSON.stringify(stored(desktop))));
    const [win] = back.windows;
    expect(win?.pages.all.length).toBe(22);
    expect(win?.pages.all[win.pages.at]).toEqual(page("x22"));
    expect(win?.pages.all.map((each) => toText(each))).toEqual(
      desktop.windows[0]?.pages.all.slice(3).map((each) => toText(each)),
    );
  });

  test("has only the last page of files and settings", () => {
    let desktop = opened(emptyDesktop(), OWN_APPS[0] ?? app, room);
    for (const text of ["old", "new"]) desktop = withPage(desktop, 1, page(text));
    expect(shown(stored(desktop))).toEqual([[toText(page("new"))]]);
  });

  test("may be of an earlier version, or broken", () => {
    const place = { x: 0, y: 0, width: 300, height: 200 };
    expect(shown([{ app, place, isMinimised: false, page: toText(page("a")) }])).toEqual([
      [toText(page("a"))],
    ]);
    expect(
      shown([
        { app: { ...app, own: "files" }, place, pages: [], at: 0 },
        { app, place, pages: [3] },
        { app, place, pages: ["x"] },
        null,
      ]),
    ).toEqual([]);
  });

  test("is the same wherever its windows are", () => {
    let desktop = withPage(opened(emptyDesktop(), app, room), 1, page("a"));
    desktop = opened(desktop, { ...app, name: "Other" }, room);
    expect(isSameContent(stored(desktop), stored(raised(desktop, 1)))).toBe(true);
    expect(isSameContent(stored(desktop), stored(withPage(desktop, 1, page("b"))))).toBe(false);
    expect(isSameContent(stored(desktop), stored(closed(desktop, 2)))).toBe(false);
  });
});
