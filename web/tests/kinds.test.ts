import { expect, test } from "vitest";
import { kindsInstead, lineUp, takes } from "../src/core/kinds";
import type { ModelCard } from "../src/core/protocol";

const card = (id: string, kinds: Record<string, string>, capabilities = ["canvas"]) =>
  ({
    id,
    capabilities,
    sfumato: { kinds: Object.entries(kinds).map(([example, pattern]) => ({ name: id, example, pattern })) },
  }) as unknown as ModelCard;

const ui = card("ui", { "screen: a list": "screen: .+" });
const tiny = card("tiny", { "1+1=": "[-+0-9]+=", "json: a": "json: .+" });
const twin = card("tiny-twin", { "json: a": "json: .+" }, []);
const any = card("smollm2", {});
// Python reads it; JavaScript does not.
const python = card("python", { a: "(?P<x>a)" });

test("kinds tell which prompts a model takes", () => {
  expect(takes(tiny, "2+3=")).toBe(true);
  expect(takes(ui, "2+3=")).toBe(false);
  expect(takes(ui, "screen: a\nb")).toBe(true);
  expect(takes(any, "whatever")).toBe(true);
  expect(takes(python, "b")).toBe(true);
  expect(kindsInstead(ui, "2+3=")).toEqual(ui.sfumato.kinds);
  expect(kindsInstead(tiny, "2+3=")).toEqual([]);
  expect(kindsInstead(undefined, "2+3=")).toEqual([]);
});

test("a race starts with models that take its prompt", () => {
  expect(lineUp([ui, tiny, twin], "json: x")).toEqual({ prompt: "json: x", ids: ["tiny", "tiny-twin"] });
  expect(lineUp([ui, twin, any, tiny], "2+3=")).toEqual({ prompt: "2+3=", ids: ["smollm2", "tiny"] });
  // Only one takes this: an example that two take is better.
  expect(lineUp([ui, tiny, twin], "2+3=")).toEqual({ prompt: "json: a", ids: ["tiny", "tiny-twin"] });
  // There is none.
  expect(lineUp([ui, tiny], "2+3=")).toEqual({ prompt: "2+3=", ids: ["ui", "tiny"] });
  expect(lineUp([], "2+3=")).toEqual({ prompt: "2+3=", ids: [] });
});
