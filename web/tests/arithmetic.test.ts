import { expect, test } from "vitest";
import { drawExpression, evaluate, rational, show } from "../src/core/arithmetic";
import { judgeOf } from "../src/core/judge";

/** The same draws each time: Lehmer's generator. */
function seeded(seed: number): () => number {
  let at = seed;
  return () => (at = (at * 48271) % 2147483647) / 2147483647;
}

test.each([
  ["81*(2/3)^2+sqrt(9)", "39"],
  ["1/3+1/6", "1/2"],
  ["2-3-4", "-5"],
  ["-2^2", "-4"],
  ["2^3^2", "512"],
  ["sqrt(4/9)*3", "2"],
  ["((62/2+sqrt(36))*2+36/9)/3", "26"],
  ["7^99/7^98", "7"],
  ["10 / 4", "5/2"],
])("%s is %s", (expression, value) => {
  expect(show(evaluate(expression))).toBe(value);
});

test.each(["", "1+", "(1", "1)", "sqrt 4", "two", "1..2"])("%j is no expression", (text) => {
  expect(() => evaluate(text)).toThrow(SyntaxError);
});

test.each(["1/0", "sqrt(2)", "sqrt(9^99+1)", "sqrt(-4)", "2^100", "2^(1/2)", "2^-1"])(
  "%s has no value here",
  (text) => {
    expect(() => evaluate(text)).toThrow(RangeError);
  },
);

test("fractions are in lowest terms, with the sign above", () => {
  expect(rational(6n, -4n)).toEqual({ top: -3n, bottom: 2n });
});

test("what is drawn has a whole value of two digits, and is of the grammar of the task", () => {
  // As the server's card has it.
  const term = String.raw`(?:\d{1,2}\*\(\d/\d\)\^2|sqrt\(\d{1,3}\)|\d\*\d|\d\^2|\d{1,2}/\d)`;
  const pattern = new RegExp(String.raw`^\(*${term}(?:[-+]${term}\)?|[*/][2-9]\)?){1,5}$`);
  const random = seeded(7);
  const drawn = Array.from({ length: 300 }, () => drawExpression(random));
  for (const expression of drawn) {
    expect(expression).toMatch(pattern);
    const { top, bottom } = evaluate(expression);
    expect([bottom, top >= 10n && top <= 99n]).toEqual([1n, true]);
  }
  expect(new Set(drawn).size).toBeGreaterThan(280);
});

test("the first whole answer line is a claim, as the task reads it", () => {
  const judge = judgeOf("answer, then derive: 81*(2/3)^2+sqrt(9)");
  if (judge === null) throw new Error("no judge");
  expect(judge.truth).toBe("39");
  expect(judge.claim("answer: 3", false)).toBeNull();
  expect(judge.claim("answer: 49\n81", false)).toBe("49");
  expect(judge.claim("answer: 039\n36+3 = 39", true)).toBe("39");
  expect(judge.claim("answer: 39\nanswer: 40", true)).toBeNull();
  expect([judge.isRight("39"), judge.isRight("49")]).toEqual([true, false]);
});

test("a plain question is answered by a number alone", () => {
  const judge = judgeOf("What is 12 + 5?");
  expect([judge?.truth, judge?.claim("17", true), judge?.claim("1", false)]).toEqual(["17", "17", null]);
});

test("of a JSON object every name and number has to stand in the sentence", () => {
  const judge = judgeOf("json: Our 8-year-old parrot Mia is red.");
  const right = (text: string) => judge?.isRight(judge.claim(text, true) ?? "");
  expect(right('{"name": "Mia", "age": 8, "color": "red", "done": true}')).toBe(true);
  expect(right('{"name": "Mi", "age": 8}')).toBe(false);
  expect(right('{"age": 18}')).toBe(false);
  expect(right('{"age": 8')).toBe(false);
  expect(right("[8]")).toBe(false);
});

test.each(["screen: a to-do list", "answer, then derive: 1/0", "fizzbuzz in python"])(
  "%s has no judge",
  (prompt) => {
    expect(judgeOf(prompt)).toBeNull();
  },
);
