/** What the server says and is asked; its OpenAPI document has all of it. */

export interface PromptKind {
  name: string;
  example: string;
  [other: string]: unknown;
}

export interface ModelCard {
  id: string;
  /** Null where the server does not say. */
  context_length: number | null;
  capabilities: string[];
  loaded: boolean;
  sfumato: {
    noise: string | null;
    canvas_length: number;
    steps: number | null;
    /** Of the first step, and what it falls to. */
    temperature: [start: number, end: number] | null;
    /** The name of its own; null where the server does not say. */
    sampler: string | null;
    /** Those that its noise supports. */
    samplers: string[];
    /** Smallest and largest value of an option. */
    limits: Partial<Record<string, [low: number, high: number]>>;
    max_tokens: number | null;
    tasks: string[];
    kinds: PromptKind[];
    parameters: string[];
  };
}

export interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

export type Span = [start: number, end: number];

/** The options of denoising that every request takes. */
export interface Diffusion {
  steps?: number;
  sampler?: string;
  settings?: Record<string, unknown>;
  canvas_length?: number;
  strength?: number;
  revisit?: boolean | number;
  min_steps?: number;
  deadline_ms?: number;
  priority?: number;
  regex?: string;
  choices?: string[];
  ban?: string[];
  top_logprobs?: number;
  every_step?: boolean;
}

export interface CanvasRequest extends Diffusion {
  model?: string;
  prompt?: string;
  messages?: Message[];
  text?: string;
  pins?: Span[];
  spans?: Span[];
  instruction?: string;
  max_tokens?: number;
  temperature?: number;
  seed?: number;
  schema?: object;
  n?: number;
  background?: boolean;
}

export interface EditRequest extends Diffusion {
  base_rev: number;
  replace?: { start: number; end: number; text: string }[];
  spans?: Span[];
  instruction?: string;
  rewrite?: boolean;
  temperature?: number;
  seed?: number;
  min_certainty?: number;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  canvases: number;
  denoising_steps: number;
  forward_passes: number;
  positions_computed: number;
  revisions: number;
  time_to_first_commit_s: number;
  total_s: number;
  [other: string]: number;
}

/** A token of the committed text, and what else could have stood there. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  top_logprobs?: { token: string; logprob: number }[];
}

export interface ErrorBody {
  message: string;
  type?: string;
  code?: string | null;
  param?: string | null;
  [other: string]: unknown;
}

export interface Ending {
  finish_reason?: string;
  seed?: number;
  certainty?: number;
  usage?: Usage;
  error?: ErrorBody;
  logprobs?: TokenLogprob[];
}

/** A picture of a canvas. */
export interface Asset {
  slot: string;
  status: "pending" | "ready" | "error";
  url?: string;
  error?: ErrorBody;
}

/** Where a picture is, or will be. */
export interface Picture {
  readonly canvas: string;
  readonly slot: string;
  readonly prompt: string;
}

export type CanvasStatus = "running" | "done" | "cancelled" | "error" | "interrupted";

export interface CanvasBody extends Ending {
  id: string;
  model: string;
  rev: number;
  status: CanvasStatus;
  text: string;
  created: number;
  seq: number;
  assets?: Asset[];
}

export interface Revision extends Record<string, unknown> {
  rev: number;
  text: string;
  made_by: "model" | "hand" | "undo";
  created: number;
}

interface EventBase {
  seq: number;
  canvas_id: string;
  rev: number;
  elapsed_ms?: number;
}

export type PositionState = "noise" | "accepted" | "revised";

/** A stretch of positions, or of characters alone, and what stands there now. */
export interface Change {
  tokens?: Span;
  chars: Span;
  text: string;
  pieces?: string[];
}

export type CanvasEvent = EventBase &
  (
    | { type: "canvas.started"; model: string }
    | {
        type: "canvas.snapshot";
        status: CanvasStatus;
        text: string;
        committed: number;
        block: number;
        step: number;
        steps?: number;
        pieces: string[];
        state?: PositionState[];
        confidence?: number[];
        entropy?: number[];
        assets?: Asset[];
      }
    | {
        type: "canvas.patch";
        block: number;
        step: number;
        steps: number;
        changes: Change[];
        state: PositionState[];
        confidence: number[];
        entropy?: number[];
      }
    | { type: "canvas.commit"; block: number; chars: Span; text: string; logprobs?: TokenLogprob[] }
    | { type: "asset.ready"; slot: string; url: string }
    | { type: "asset.error"; slot: string; error: ErrorBody }
    | ({ type: "canvas.done"; status: CanvasStatus; text: string } & Ending)
    | ({ type: "canvas.error"; status: CanvasStatus; text: string } & Ending)
  );
