import { expect, test } from "vitest";
import { wilson, median } from "../src/core/intervals";
import { FIGURES, lineOf, parseMetrics, readingOf, short } from "../src/core/metrics";

const TEXT = String.raw`# HELP sfumato_answers_total Answers.
# TYPE sfumato_answers_total counter
sfumato_answers_total{finish_reason="stop",model="a"} 3.0
sfumato_answers_total{finish_reason="length",model="a"} 1.0
sfumato_answers_created{finish_reason="stop",model="a"} 1.79e+09
sfumato_first_commit_seconds_bucket{le="+Inf",model="a"} 4.0
sfumato_first_commit_seconds_sum{model="a"} 0.5
sfumato_first_commit_seconds_count{model="a"} 4
process_start_time_seconds 1.7e9 1395066363000
odd{model="say \"hi, {you}\"\\\n"} NaN
sfumato_requests_total{method="GET",route="/v1/canvas/{canvas_id}",status="200"} 7

`;

test("samples have names, labels and values", () => {
  const samples = parseMetrics(TEXT);
  expect(samples).toHaveLength(9);
  expect(samples[0]).toEqual({
    name: "sfumato_answers_total",
    labels: { finish_reason: "stop", model: "a" },
    value: 3,
  });
  expect(samples[6]).toEqual({ name: "process_start_time_seconds", labels: {}, value: 1.7e9 });
  expect(samples[7]?.labels.model).toBe('say "hi, {you}"\\\n');
  expect(samples[8]?.labels.route).toBe("/v1/canvas/{canvas_id}");
});

test.each(["a b c d", "<html>", "a 1x"])("%j is refused", (line) => {
  expect(() => parseMetrics(line)).toThrow(SyntaxError);
});

const reading = (atMs: number, text: string) => readingOf(parseMetrics(text), atMs);

test("readings add up what differs in other labels, and leave out buckets and dates", () => {
  const { models } = reading(0, TEXT);
  expect(Object.fromEntries(models.get("a") ?? [])).toEqual({
    answers: 4,
    first_commit_seconds_sum: 0.5,
    first_commit_seconds_count: 4,
  });
});

test("counters become rates and means; a server that began anew counts from zero", () => {
  const of = (name: string, before: string, now: string) =>
    FIGURES.find((figure) => figure.name === name)?.of("a", reading(1000, before), reading(3000, now));
  const tokens = (n: number) => `sfumato_completion_tokens_total{model="a"} ${n}`;
  expect(of("Tokens", tokens(10), tokens(50))).toBe(20);
  expect(of("Tokens", tokens(500), tokens(50))).toBe(25);
  expect(of("Tokens", "", tokens(4))).toBe(2);
  const steps = (n: number, canvases: number) =>
    `sfumato_denoising_steps_total{model="a"} ${n}\nsfumato_canvases_total{model="a"} ${canvases}`;
  expect(of("Steps", steps(10, 2), steps(25, 5))).toBe(5);
  expect(of("Steps", steps(10, 2), steps(10, 2))).toBeNull();
  const first = (sum: number, n: number) =>
    `sfumato_first_commit_seconds_sum{model="a"} ${sum}\nsfumato_first_commit_seconds_count{model="a"} ${n}`;
  expect(of("Time to first committed canvas", first(1, 2), first(2, 4))).toBe(500);
  expect(of("Running", "", 'sfumato_running{model="a"} 3')).toBe(3);
});

test("lines break where the server could not be asked", () => {
  const [tokens] = FIGURES;
  if (tokens === undefined) throw new Error("there are no figures");
  const at = (seconds: number, n: number) =>
    reading(1000 * seconds, `sfumato_completion_tokens_total{model="a"} ${n}`);
  const gap = { atMs: 2500, models: new Map(), isGap: true as const };
  expect(lineOf(tokens, "a", [at(0, 0), at(1, 5), at(2, 15)])).toEqual([5, 10]);
  expect(lineOf(tokens, "a", [at(0, 0), at(1, 5), gap, at(9, 50), at(10, 53)])).toEqual([5, null, null, 3]);
});

test.each([
  // Brown, Cai and DasGupta 2001, Interval Estimation for a Binomial Proportion: its formula, worked out by hand.
  [5, 10, 0.2366, 0.7634],
  [9, 10, 0.5958, 0.9821],
  [0, 20, 0, 0.1611],
  [20, 20, 0.8389, 1],
  [0, 0, 0, 1],
])("%i of %i lies between %f and %f", (k, n, low, high) => {
  const [found, above] = wilson(k, n);
  expect(found).toBeCloseTo(low, 4);
  expect(above).toBeCloseTo(high, 4);
});

test("the median stands in the middle", () => {
  expect([median([]), median([3]), median([9, 1, 2]), median([10, 2, 9, 1])]).toEqual([null, 3, 2, 5.5]);
});

test("numbers are short", () => {
  expect([null, 0, 0.1234, 12.34, 1234.5].map(short)).toEqual(["–", "0", "0.12", "12.3", "1,235"]);
});
