/** What the page and its worker tell each other. */
import type { CanvasEvent, PromptKind } from "../core/protocol";

export type ToWorker =
  | { kind: "load"; model: string }
  | { kind: "run"; id: number; prompt: string; seed: number }
  | { kind: "stop" };

export type FromWorker =
  | { kind: "progress"; loaded: number; total: number }
  | { kind: "ready"; model: string; kinds: PromptKind[]; threads: number; urls: string[] }
  | { kind: "event"; id: number; event: CanvasEvent }
  | { kind: "failed"; id: number | null; message: string };
