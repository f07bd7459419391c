import { expect, test } from "vitest";
import { nodeAt, parsePartial, type JsonNode } from "../src/core/partial-json";
import { randomly } from "./random";

const NAMES = ["name", "a b", "__proto__", "é😀", 'quo"te', ""];

function someValue(random: (below: number) => number, depth: number): unknown {
  const leaves = ["Mia", "", 'a\n\t\\"b', "😀", -12.5, 0, 1e21, true, false, null];
  const kind = depth > 3 ? 0 : random(4);
  if (kind === 1) return Array.from({ length: random(4) }, () => someValue(random, depth + 1));
  if (kind === 2)
    return Object.fromEntries(NAMES.slice(random(6)).map((name) => [name, someValue(random, depth + 1)]));
  return leaves[random(leaves.length)];
}

const runs = Array.from({ length: 60 }, (_, seed) => seed);

test.each(runs)("whole JSON %i is what JSON.parse makes of it", (seed) => {
  const value = { answer: someValue(randomly(seed), 0) };
  for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
    expect(parsePartial(text)?.value).toEqual(value);
    expect(parsePartial(text)?.isComplete).toBe(true);
  }
});

test.each(runs)("each beginning of JSON %i holds the values that end in it", (seed) => {
  const value = { first: someValue(randomly(seed), 1), second: someValue(randomly(seed + 100), 1) };
  const text = JSON.stringify(value);
  const end = parsePartial(text)?.children.get("first")?.end ?? 0;
  for (let length = 0; length <= text.length; length++) {
    const node = parsePartial(text.slice(0, length));
    if (length > end) expect(node?.children.get("first")?.value).toEqual(value.first);
  }
});

test.each(runs)("damaged JSON %i is read without an error, and every value is where it says", (seed) => {
  const random = randomly(seed);
  const characters = Array.from(JSON.stringify(someValue(random, 0), null, random(2)));
  for (let i = 0; i < 1 + random(6); i++) {
    const noise = ['"', "}", "]", "{", "[", ",", ":", "\\", "\ufffd", "x", "7", "\n"][random(12)] ?? "";
    characters.splice(random(characters.length + 1), random(3), noise);
  }
  const text = characters.join("");
  const visit = (node: JsonNode) => {
    expect(node.start).toBeLessThan(node.end);
    expect(node.end).toBeLessThanOrEqual(text.length);
    for (const child of node.children.values()) {
      expect(child.start).toBeGreaterThan(node.start);
      expect(child.end).toBeLessThanOrEqual(node.end);
      visit(child);
    }
  };
  const node = parsePartial(text);
  if (node !== null) visit(node);
});

test("a draft with noise in it keeps its fields", () => {
  const node = parsePartial('{"name": "M\ufffd, "animal": "parrot", thmor "age": 8');
  expect(nodeAt(node, ["animal"])).toBeNull();
  const other = parsePartial('{"name": Mia\ufffd, "animal": "parrot", thmor "age": 8');
  expect(nodeAt(other, ["animal"])?.value).toBe("parrot");
  expect(nodeAt(other, ["age"])).toMatchObject({ value: 8, isComplete: false });
});

test("deep nesting ends", () => {
  expect(() => parsePartial("[".repeat(100_000))).not.toThrow();
  expect(() => parsePartial('{"a":'.repeat(100_000))).not.toThrow();
});
