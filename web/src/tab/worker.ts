/** The worker of the tab: it gets a model, and answers with it. */
import type { PromptKind } from "../core/protocol";
import { getFiles, getJson } from "./download";
import { generate, type TextModel } from "./generate";
import type { FromWorker, ToWorker } from "./messages";
import { explained } from "./browser";
import { numThreads, openGraph, RUNTIME_URLS } from "./runtime";
import { checkManifest, readSettings } from "./settings";
import { readStopHead } from "./stop-head";
import { Tokenizer } from "./tokenizer";

interface TokenizerConfig {
  eos_token: string;
}

/** Answers of two steps after which a browser has compiled all code that they run to its fastest form. */
const NUM_WARM_UPS = 10;

let model: TextModel | null = null;
let isStopped = false;
/** Whether somebody waits for more than a warm-up. */
let isAsked = false;
let warming: Promise<void> = Promise.resolve();

const tell = (message: FromWorker) => postMessage(message);

/** Lets messages in between two steps. */
function pause(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

async function load(name: string): Promise<void> {
  model = null;
  const directory = `/tab/models/${name}`;
  const manifest = checkManifest(await getJson(`${directory}/export.json`));
  const files = await getFiles(directory, manifest.files, (loaded, total) =>
    tell({ kind: "progress", loaded, total }),
  );
  const file = (which: string) => {
    const found = files.get(which);
    if (found === undefined)
      throw new Error(`${name} has no ${which}; have the server export the model anew`);
    return found;
  };
  const json = (which: string) => JSON.parse(new TextDecoder().decode(file(which))) as object;
  const tokenizer = new Tokenizer(json("tokenizer.json"));
  const { eos_token } = json("tokenizer_config.json") as TokenizerConfig;
  const generation = json("generation_config.json") as Record<string, unknown>;
  const settings = readSettings(generation, tokenizer.idOf(eos_token), manifest.spec);
  const stop = files.get("stop_head.safetensors");
  const stopHead = stop === undefined ? null : readStopHead(stop);
  await warming;
  const forward = await openGraph(manifest, file("model.onnx"), file("model.safetensors"));
  const loaded = { manifest, settings, tokenizer, stopHead, forward };
  // The first pass compiles its code; do it before a prompt has to wait for it.
  await warmUp(loaded);
  model = loaded;
  isAsked = false;
  warming = keepWarmingUp(loaded);
  const urls = [...RUNTIME_URLS, self.location.href];
  const kinds = (generation["prompt_kinds"] ?? []) as PromptKind[];
  tell({ kind: "ready", model: name, kinds, threads: numThreads(), urls });
}

async function warmUp(loaded: TextModel): Promise<void> {
  const events = generate({ ...loaded, settings: { ...loaded.settings, steps: 2 } }, "a b", 0);
  while ((await events.next()).done !== true);
}

/** What is compiled first runs three times as long as what the browser makes of it once it has run often. */
async function keepWarmingUp(loaded: TextModel): Promise<void> {
  for (let i = 0; i < NUM_WARM_UPS && !isAsked; i++) {
    await warmUp(loaded);
    await pause();
  }
}

async function run(id: number, prompt: string, seed: number): Promise<void> {
  isStopped = false;
  await warming;
  if (model === null) throw new Error("no model is loaded");
  for await (const event of generate(model, prompt, seed, () => isStopped)) {
    tell({ kind: "event", id, event });
    await pause();
  }
}

self.addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "stop") {
    isStopped = true;
    return;
  }
  isAsked = true;
  const id = data.kind === "run" ? data.id : null;
  const work = data.kind === "run" ? run(data.id, data.prompt, data.seed) : load(data.model);
  work.catch((error: unknown) => tell({ kind: "failed", id, message: explained(error).message }));
});
