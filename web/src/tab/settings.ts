/** What export.json and generation_config.json say of a model, checked: what the tab does not do is refused by name. */

export interface Spec {
  noise: string;
  mask_id: number | null;
  canvas_length: number;
  prefix_attention: string;
  logit_shift: boolean;
  self_conditioning: boolean;
  next_token?: boolean;
}

export interface FileFacts {
  bytes: number;
  sha256: string;
}

/** export.json. */
export interface Manifest {
  format: string;
  name: string;
  spec: Spec;
  vocab_size: number;
  hidden_size: number;
  cache_shape: [layers: number, two: number, heads: number, size: number];
  max_positions: number;
  turn: (string | number)[];
  length_buckets: number[];
  inputs: string[];
  files: Record<string, FileFacts>;
}

/** How canvases are denoised, see `SamplerConfig` and the entropy sampler. */
export interface Settings {
  steps: number;
  /** Steps of a draft that is then verified from left to right; 0 commits canvases as they are. */
  draftSteps: number;
  entropyBound: number;
  temperatureStart: number;
  temperatureEnd: number;
  adaptive: boolean;
  stableSteps: number;
  stopEntropy: number;
  stopProbability: number;
  maxTokens: number;
  eosIds: number[];
}

const FORMAT = "sfumato-onnx-1";
/** Settings that change nothing at these values, and are not done at others. */
const ONLY: Record<string, unknown> = {
  name: "entropy",
  top_p: 1,
  top_k: 0,
  greedy_tail: 0,
  commit_sample: false,
  block_length: 0,
  reuse: "none",
};

/** Throws an Error if the manifest is none, or of a model that the tab does not run. */
export function checkManifest(found: unknown): Manifest {
  const manifest = (found ?? {}) as Manifest;
  if (manifest.format !== FORMAT) {
    throw new Error(`export.json has the format ${JSON.stringify(manifest.format)}; allowed: "${FORMAT}"`);
  }
  const { noise, prefix_attention, logit_shift, canvas_length } = manifest.spec;
  if (noise !== "uniform" || prefix_attention !== "causal" || !logit_shift || canvas_length === 1) {
    throw new Error(
      `${manifest.name} has ${noise} noise, ${prefix_attention} prefixes and canvases of ${canvas_length}; ` +
        "the tab runs models with uniform noise, causal prefixes, shifted logits and canvases of several positions",
    );
  }
  return manifest;
}

/** Settings out of generation_config.json, with the defaults of `SamplerConfig`. Throws an Error that names what is not
 * done. */
export function readSettings(generation: Record<string, unknown>, ownEnd: number, spec: Spec): Settings {
  for (const [name, allowed] of Object.entries(ONLY)) {
    const given = generation[name] ?? allowed;
    if (given !== allowed) {
      throw new Error(`${name} is ${JSON.stringify(given)}; allowed in the tab: ${JSON.stringify(allowed)}`);
    }
  }
  const number = (name: string, otherwise: number) => {
    const value = generation[name] ?? otherwise;
    if (typeof value !== "number") throw new Error(`${name} is ${JSON.stringify(value)}; allowed: a number`);
    return value;
  };
  const draftSteps = number("draft_steps", 0);
  if (draftSteps > 0 && spec.next_token !== true) {
    throw new Error(
      `draft_steps is ${draftSteps}; allowed: 0, because the model does not predict the next token`,
    );
  }
  return {
    steps: number("steps", 48),
    draftSteps,
    entropyBound: number("entropy_bound", 0.1),
    temperatureStart: number("temperature_start", 1),
    temperatureEnd: number("temperature_end", 1),
    adaptive: generation["adaptive"] !== false,
    stableSteps: number("stable_steps", 1),
    stopEntropy: number("stop_entropy", 0.005),
    stopProbability: number("stop_probability", 0.5),
    maxTokens: number("max_tokens", 128),
    eosIds: [...new Set([ownEnd, ...[generation["eos_token_id"] ?? []].flat()])] as number[],
  };
}
