/** onnxruntime in WebAssembly: a graph as a `Forward`. */
import * as ort from "onnxruntime-web/wasm";
import moduleUrl from "onnxruntime-web/ort-wasm-simd-threaded.mjs?url";
import wasmUrl from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import type { Forward, ForwardInput } from "./generate";
import type { Manifest } from "./settings";

/** What has to be kept to run without a network. */
export const RUNTIME_URLS: readonly string[] = [moduleUrl, wasmUrl];
const MAX_THREADS = 4;
/** How many threads a forward has: more than one only on pages that are isolated from other origins. */
export function numThreads(): number {
  return self.crossOriginIsolated ? Math.max(1, Math.min(MAX_THREADS, navigator.hardwareConcurrency)) : 1;
}

/** Throws an Error if the graph does not fit its weights, or there is no memory for it. */
export async function openGraph(
  manifest: Manifest,
  graph: ArrayBuffer,
  weights: ArrayBuffer,
): Promise<Forward> {
  ort.env.wasm.numThreads = numThreads();
  ort.env.wasm.wasmPaths = { mjs: moduleUrl, wasm: wasmUrl };
  const session = await ort.InferenceSession.create(new Uint8Array(graph), {
    executionProviders: ["wasm"],
    externalData: [{ path: "model.safetensors", data: new Uint8Array(weights) }],
  });
  const [layers, two, heads, size] = manifest.cache_shape;
  const rowSize = layers * two * heads * size;
  return async (input) => {
    const feeds = feedsOf(input, manifest, [layers, two, heads, input.cache.length / rowSize, size]);
    const read = await session.run(feeds);
    const need = (name: string): ort.Tensor["data"] => {
      const found = read[name]?.data;
      if (found === undefined) throw new Error(`the graph of ${manifest.name} gives no ${name}`);
      return found;
    };
    const floats = (name: string) => need(name) as Float32Array;
    return {
      best: need("best") as Int32Array,
      drawn: need("drawn") as Int32Array,
      confidence: floats("confidence"),
      entropy: floats("entropy"),
      written: floats("written"),
      soft: manifest.spec.self_conditioning ? floats("soft_after") : null,
      lengths: input.causal && manifest.length_buckets.length > 0 ? floats("lengths") : null,
    };
  };
}

function feedsOf(input: ForwardInput, manifest: Manifest, cacheShape: number[]): Record<string, ort.Tensor> {
  const count = input.tokens.length;
  const width = manifest.hidden_size;
  const flags = (value: boolean) =>
    new ort.Tensor("bool", new Uint8Array(count).fill(Number(value)), [count]);
  const all: Record<string, () => ort.Tensor> = {
    tokens: () => new ort.Tensor("int32", input.tokens, [count]),
    cache: () => new ort.Tensor("float32", input.cache, cacheShape),
    causal: () => new ort.Tensor("bool", Uint8Array.of(Number(input.causal)), []),
    read: () => new ort.Tensor("int32", input.read, [input.read.length]),
    temperature: () => new ort.Tensor("float32", Float32Array.of(input.temperature), []),
    uniform: () => new ort.Tensor("float32", input.uniform, [input.uniform.length]),
    banned: () => new ort.Tensor("bool", input.banned, [input.banned.length]),
    canvas: () => flags(input.canvas),
    given: () => flags(false),
    soft: () => new ort.Tensor("float32", input.soft ?? new Float32Array(count * width), [count, width]),
  };
  return Object.fromEntries(
    manifest.inputs.map((name) => {
      const make = all[name];
      if (make === undefined)
        throw new Error(`the graph of ${manifest.name} takes ${name}, which the tab lacks`);
      return [name, make()];
    }),
  );
}
