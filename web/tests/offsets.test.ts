import { expect, test } from "vitest";
import { Offsets } from "../src/core/offsets";
import { randomly } from "./random";

const PIECES = ["a", "é", "\r\n", "\n", "\t", "\ufeff", "😀", "𝒳", "e\u0301", "\ud83d", "\ude00", "日"];

test.each(Array.from({ length: 50 }, (_, seed) => seed))(
  "places of text %i are those of its characters",
  (seed) => {
    const random = randomly(seed);
    const text = Array.from({ length: random(40) }, () => PIECES[random(PIECES.length)]).join("");
    const offsets = new Offsets(text);
    const characters = Array.from(text);
    let unit = 0;
    characters.forEach((character, i) => {
      expect(offsets.toCharacters(unit)).toBe(i);
      expect(offsets.toUnits(i)).toBe(unit);
      unit += character.length;
    });
    expect(offsets.toCharacters(text.length)).toBe(characters.length);
    expect(offsets.toUnits(characters.length)).toBe(text.length);
  },
);

test("between the halves of a pair is where it begins", () => {
  expect(new Offsets("a😀b").toCharacters(2)).toBe(1);
});
