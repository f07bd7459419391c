import { history, undo } from "@codemirror/commands";
import { rejectChunk } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { describe, expect, test } from "vitest";
import { acceptChange, Review } from "../src/components/review";

const LINES = ["def area(a, b):", "    return a + b", "", "", "def cube(a):", "    return a * a", ""];

function reviewed(before: string, after: string): { view: EditorView; review: Review } {
  const review = new Review();
  const extensions = [EditorState.lineSeparator.of("\n"), history(), review.extension];
  const view = new EditorView({ state: EditorState.create({ doc: after, extensions }) });
  review.begin(view, before);
  return { view, review };
}

describe.each(["\n", "\r\n"])("changes of lines that end in %j", (end) => {
  const before = LINES.join(end);
  const after = before.replace("a + b", "a * b").replace("a * a", "a ** 3");

  test("are decided one by one", () => {
    const { view, review } = reviewed(before, after);
    expect(review.count(view)).toBe(2);
    expect(acceptChange(view, after.indexOf("a * b"))).toBe(true);
    expect(review.count(view)).toBe(1);
    expect(rejectChunk(view, after.indexOf("a ** 3"))).toBe(true);
    expect(review.count(view)).toBe(0);
    expect(view.state.doc.toString()).toBe(before.replace("a + b", "a * b"));
    expect(acceptChange(view, 0)).toBe(false);
  });

  test("are told from what is typed beside them", () => {
    const { view, review } = reviewed(before, after);
    const type = (from: number, insert: string) =>
      view.dispatch({ changes: { from, insert }, userEvent: "input.type" });
    const top = `# top${end}`;
    type(0, top);
    expect(review.count(view)).toBe(2);
    const own = `${end}# own`;
    type(view.state.doc.toString().indexOf("def cube") - end.length, own);
    type(view.state.doc.length, "# end");
    expect(review.count(view)).toBe(2);
    // What is typed in a change is part of it.
    type(view.state.doc.toString().indexOf("a ** 3"), "2 * ");
    const typed = (text: string) => `${top}${text.replace(`${end}def cube`, `${own}${end}def cube`)}# end`;
    review.decideAll(view, false);
    expect(view.state.doc.toString()).toBe(typed(before));

    // An undo brings back changes that were refused, and takes back only what was typed.
    undo(view);
    undo(view);
    expect(review.count(view)).toBeGreaterThan(0);
    while (undo(view));
    expect(view.state.doc.toString()).toBe(after);
    expect(review.base(view)).toBe(before);
    expect(review.count(view)).toBe(2);
  });

  test.each([
    [true, after],
    [false, before],
  ])("are all accepted (%s) or refused", (isAccepted, text) => {
    const { view, review } = reviewed(before, after);
    review.decideAll(view, isAccepted);
    expect(review.count(view)).toBe(0);
    expect(view.state.doc.toString()).toBe(text);
  });

  test("may add and delete lines, the last one too", () => {
    for (const [one, other] of [
      [before, before.trimEnd()],
      [before.trimEnd(), `${before}x = 1`],
      [before, LINES.slice(3).join(end)],
      ["", before],
    ] as const) {
      const { view, review } = reviewed(one, other);
      review.decideAll(view, true);
      expect(review.count(view)).toBe(0);
      expect(view.state.doc.toString()).toBe(other);
    }
  });
});
