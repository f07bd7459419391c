/** The tab against Python: the same draws, tokens, stops, and answers step by step, as `record_tab.py` recorded them. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { applyEvent, emptyView, textOf } from "../src/core/canvas";
import type { PromptKind } from "../src/core/protocol";
import { checkBrowser, explained } from "../src/tab/browser";
import { checkFile } from "../src/tab/download";
import { appended, generate, type Forward, type ForwardOutput, type TextModel } from "../src/tab/generate";
import { kindsInstead } from "../src/core/kinds";
import { ownUniforms, uniforms } from "../src/tab/rng";
import { acceptByEntropy } from "../src/tab/sampler";
import { checkManifest, readSettings, type Manifest } from "../src/tab/settings";
import { readStopHead } from "../src/tab/stop-head";
import { Tokenizer } from "../src/tab/tokenizer";
import recorded from "./recorded_tab.json";

const ASSETS = "../src/sfumato/assets";
type Name = "tiny" | "ui";

const read = (name: string, file: string) => readFileSync(`${ASSETS}/${name}/${file}`);
const readJson = (name: string, file: string) => JSON.parse(read(name, file).toString()) as object;
const tokenizerOf = (name: string) => new Tokenizer(readJson(name, "tokenizer.json"));
const manifestOf = (name: string) => checkManifest(readJson(name, "export.json"));
const generationOf = (name: string) => readJson(name, "generation_config.json") as Record<string, unknown>;

function stopHeadOf(name: string) {
  const { buffer, byteOffset, byteLength } = read(name, "stop_head.safetensors");
  return readStopHead(buffer.slice(byteOffset, byteOffset + byteLength));
}

describe("randomness", () => {
  it.each(recorded.uniforms)("is that of Python for $key", ({ key, u }) => {
    const [seed = 0, canvas = 0, step = 0, stream = 0] = key;
    expect(Array.from(uniforms(seed, canvas, step, u.length, stream))).toEqual(u);
  });
});

describe.each(["tiny", "ui"] as Name[])("the tokenizer of %s", (name) => {
  it.each(recorded.encoded[name])("encodes and decodes $text as Python does", ({ text, ids, half }) => {
    const tokenizer = tokenizerOf(name);
    expect(tokenizer.encode(text)).toEqual(ids);
    expect(tokenizer.decode(ids)).toBe(text);
    expect(tokenizer.decode(ids.slice(0, ids.length / 2))).toBe(half);
  });

  it("reads no special token out of a text, and refuses half of a character", () => {
    const tokenizer = tokenizerOf(name);
    const ids = tokenizer.encodeTurn([2, "\u{100000}", 3], "a<|end|>$&");
    expect(ids.slice(1, -1).some((id) => tokenizer.specialIds.has(id))).toBe(false);
    expect(tokenizer.decode(ids)).toBe("a<|end|>$&");
    expect(() => tokenizer.encode("a\ud83d")).toThrow("surrogate");
  });
});

describe("the stop head", () => {
  it.each(recorded.stops)(
    "gives what Python gives after $stable steps",
    ({ confidence, stable, probability }) => {
      expect(stopHeadOf("tiny")(Float32Array.from(confidence), stable)).toBeCloseTo(probability, 5);
    },
  );

  it("refuses a file without its layers", () => {
    const header = new TextEncoder().encode("{}");
    const file = new Uint8Array(8 + header.length);
    file[0] = header.length;
    file.set(header, 8);
    expect(() => readStopHead(file.buffer)).toThrow("has no inside");
  });
});

describe("acceptance by entropy", () => {
  it("takes the lowest while those before come to no more than the bound, and always one", () => {
    expect(acceptByEntropy(Float32Array.of(0.5, 0.1, 0.15, 0.05), 0.2)).toEqual([false, true, true, true]);
    expect(acceptByEntropy(Float32Array.of(3, 2, 4), 0)).toEqual([false, true, false]);
  });
});

describe("settings", () => {
  it("have Python's defaults, and refuse what the tab does not do", () => {
    const { spec } = manifestOf("tiny");
    const settings = readSettings({ eos_token_id: [1, 7] }, 1, spec);
    expect(settings).toMatchObject({ steps: 48, stopEntropy: 0.005, stableSteps: 1, eosIds: [1, 7] });
    expect(() => readSettings({ top_p: 0.9 }, 1, spec)).toThrow("top_p is 0.9; allowed in the tab: 1");
    expect(() => readSettings({ steps: "many" }, 1, spec)).toThrow('steps is "many"; allowed: a number');
    expect(() => readSettings({ draft_steps: 1 }, 1, { ...spec, next_token: false })).toThrow(
      "draft_steps is 1; allowed: 0",
    );
  });

  it("refuse manifests of another format, and models of another kind", () => {
    expect(() => checkManifest({ format: "sfumato-onnx-0" })).toThrow('allowed: "sfumato-onnx-1"');
    const manifest = manifestOf("tiny");
    expect(() => checkManifest({ ...manifest, spec: { ...manifest.spec, noise: "mask" } })).toThrow(
      "mask noise",
    );
  });
});

type Recorded = (typeof recorded.answers)[number];

/** A model that reads what Python's read, and checks that it is asked what that one was. */
function replaying({ model: name, options, lengths, canvases, prompt_tokens: prompt }: Recorded): TextModel {
  const given = options as {
    canvas_length?: number;
    max_tokens?: number;
    steps?: number;
    draft_steps?: number;
    seed: number;
  };
  const whole = manifestOf(name);
  const auto = given.canvas_length === undefined;
  const manifest: Manifest = auto
    ? whole
    : { ...whole, spec: { ...whole.spec, canvas_length: given.canvas_length ?? 0 }, length_buckets: [] };
  const settings = readSettings(generationOf(name), 1, manifest.spec);
  if (given.max_tokens !== undefined) settings.maxTokens = given.max_tokens;
  if (given.steps !== undefined) settings.steps = given.steps;
  if (given.draft_steps !== undefined) settings.draftSteps = given.draft_steps;
  const isDrafting = settings.draftSteps > 0;
  const [layers, two, heads, size] = manifest.cache_shape;
  const rowSize = layers * two * heads * size;
  const steps = canvases.flatMap(({ steps, first }, index) =>
    steps.map((step, i) => ({ ...step, i, first, index, isCheck: isDrafting && i === steps.length - 1 })),
  );
  const kept = canvases.map(({ first }, i) => (canvases[i + 1]?.first ?? 0) - first);
  let cached = 0;
  const forward: Forward = (input) => {
    expect(input.cache.length).toBe(cached * rowSize);
    const written = new Float32Array(input.tokens.length * rowSize);
    const nothing = { best: new Int32Array(1), drawn: new Int32Array(1), soft: null };
    const numbers = { confidence: Float32Array.of(1), entropy: Float32Array.of(0) };
    if (cached === 0 || (input.causal && !isDrafting)) {
      if (cached === 0) expect(Array.from(input.tokens)).toEqual(prompt.slice(0, -1));
      cached += input.tokens.length;
      return Promise.resolve<ForwardOutput>({
        ...nothing,
        ...numbers,
        written,
        lengths: auto ? Float32Array.from(lengths) : null,
      });
    }
    const step = steps.shift();
    if (step === undefined) throw new Error("Python had stopped by now");
    expect(Array.from(input.tokens.subarray(1))).toEqual(step.tokens.slice(0, -1));
    expect(input.temperature).toBe(step.temperature);
    expect([input.causal, input.canvas]).toEqual([step.isCheck, !step.isCheck]);
    const { length } = step.tokens;
    expect(input.uniform).toEqual(
      isDrafting
        ? ownUniforms(given.seed, step.first, step.isCheck ? 0 : step.i, length, 2)
        : uniforms(given.seed, step.index, step.i, length, 2),
    );
    // What is written of a draft stays in the cache as far as the draft is kept.
    if (step.isCheck) cached += kept[step.index] ?? 0;
    return Promise.resolve<ForwardOutput>({
      best: Int32Array.from(step.best),
      drawn: Int32Array.from(step.drawn),
      confidence: Float32Array.from(step.confidence),
      entropy: Float32Array.from(step.entropy),
      written,
      soft: null,
      lengths: null,
    });
  };
  const stopHead = name === "tiny" ? stopHeadOf(name) : null;
  return { manifest, settings, tokenizer: tokenizerOf(name), stopHead, forward };
}

describe("an answer", () => {
  it.each(recorded.answers)("is Python's, step by step: $model, $prompt", async (answer) => {
    const { seed } = answer.options as { seed: number };
    const events = generate(replaying(answer), answer.prompt, seed);
    let view = emptyView("");
    let next = await events.next();
    for (; next.done !== true; next = await events.next()) view = applyEvent(view, next.value);
    expect(next.value.text).toBe(answer.text);
    expect(textOf(view)).toBe(answer.text);
    expect(next.value.finishReason).toBe(answer.finish_reason);
    expect(next.value.usage.revisions).toBe(answer.revisions);
    expect(view.ending.certainty).toBeCloseTo(answer.certainty, 5);
    expect(next.value.usage.denoising_steps).toBe(answer.canvases.flatMap(({ steps }) => steps).length);
  });

  it("ends between steps when it is stopped", async () => {
    const [answer] = recorded.answers;
    if (answer === undefined) throw new Error("nothing is recorded");
    const events = generate(replaying(answer), answer.prompt, 1, () => true);
    let next = await events.next();
    while (next.done !== true) next = await events.next();
    expect(next.value).toMatchObject({ text: "", finishReason: "cancelled" });
  });

  it("refuses an empty prompt, and one that is too long", async () => {
    const [answer] = recorded.answers;
    if (answer === undefined) throw new Error("nothing is recorded");
    const model = replaying(answer);
    await expect(generate(model, " \n", 1).next()).rejects.toThrow("the prompt is empty");
    await expect(generate(model, "abc ".repeat(600), 1).next()).rejects.toThrow("shorten the prompt");
  });
});

describe("a character of several tokens", () => {
  it("is not told before it is whole, wherever canvases end", async () => {
    const text = "aé€🙂b";
    const tokenizer = tokenizerOf("tiny");
    const manifest = manifestOf("tiny");
    manifest.spec = { ...manifest.spec, canvas_length: 2 };
    manifest.cache_shape = [1, 1, 1, 1];
    const settings = { ...readSettings(generationOf("tiny"), 1, manifest.spec), draftSteps: 0 };
    const ids = tokenizer.encode(text);
    expect(ids.length).toBe(11);
    const prompt = tokenizer.encodeTurn(manifest.turn, "?");
    const answer = [...prompt, ...ids, ...settings.eosIds, ...settings.eosIds];
    const forward: Forward = ({ tokens, cache, read }) => {
      const said = Int32Array.from(read, (at) => answer[cache.length + at + 1] ?? 0);
      return Promise.resolve<ForwardOutput>({
        best: said,
        drawn: said,
        confidence: new Float32Array(read.length).fill(1),
        entropy: new Float32Array(read.length),
        written: new Float32Array(tokens.length),
        soft: null,
        lengths: null,
      });
    };
    const model = { manifest, settings, tokenizer, stopHead: null, forward };
    const told: string[] = [];
    let view = emptyView("");
    for await (const event of generate(model, "?", 1)) {
      view = applyEvent(view, event);
      expect(textOf(view)).not.toContain("\ufffd");
      // At step 0 there is noise behind it.
      if (event.type !== "canvas.patch" || event.step > 0) told.push(textOf(view));
    }
    expect([...new Set(told)]).toEqual(["", "a", "aé", "aé€", "aé€🙂", text]);
    expect(view.tokens.map((token) => token.text)).toEqual(Array.from(text));
  });
});

describe("keys and values", () => {
  it("stand behind those before, row by row", () => {
    const cache = Float32Array.of(1, 2, 3, 4);
    const written = Float32Array.of(5, 6, 7, 8);
    expect(Array.from(appended(cache, written, 2, 2))).toEqual([1, 2, 5, 6, 3, 4, 7, 8]);
    expect(Array.from(appended(cache, written, 2, 1, 1))).toEqual([1, 2, 5, 3, 4, 7]);
  });
});

describe.each(["tiny", "ui"] as Name[])("prompts of %s", (name) => {
  const kinds = generationOf(name)["prompt_kinds"] as PromptKind[];

  it.each(kinds)("may be $example", ({ example }) => {
    expect(kindsInstead({ sfumato: { kinds } }, example)).toEqual([]);
  });

  it("are refused with examples where it was not trained on them", () => {
    expect(kindsInstead({ sfumato: { kinds } }, "tell me a joke")).toEqual(kinds);
    expect(kindsInstead({ sfumato: { kinds: [] } }, "anything")).toEqual([]);
  });
});

describe("what can go wrong", () => {
  const content = new TextEncoder().encode("weights").buffer;
  const sha256 = "9a8b6b3f";

  it("is a download that broke off", async () => {
    await expect(checkFile("w", content, { bytes: 8, sha256 })).rejects.toThrow(
      /came as 0.0 MB of .* broke off/,
    );
  });

  it("is a file of another version", async () => {
    await expect(checkFile("w", content, { bytes: 7, sha256 })).rejects.toThrow("of another version");
    const own = createHash("sha256").update("weights").digest("hex");
    await expect(checkFile("w", content, { bytes: 7, sha256: own })).resolves.toBeUndefined();
  });

  it("is a browser without SIMD", () => {
    const { validate } = WebAssembly;
    expect(() => checkBrowser()).not.toThrow();
    WebAssembly.validate = () => false;
    try {
      expect(() => checkBrowser()).toThrow("no WebAssembly with SIMD");
    } finally {
      WebAssembly.validate = validate;
    }
  });

  it("is that memory runs out", () => {
    expect(explained(new RangeError("Array buffer allocation failed")).message).toMatch(/no memory left/);
    expect(explained(new Error("std::bad_alloc")).message).toMatch(/no memory left/);
    expect(explained(new Error("else")).message).toBe("else");
  });
});
