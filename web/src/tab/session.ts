/** The page's end of the worker: a model that answers, and what goes on with it. */
import { applyEvent, emptyView, type CanvasView } from "../core/canvas";
import type { CanvasEvent, PromptKind } from "../core/protocol";
import { newTrace, withView } from "../core/trace";
import { newTake, type Take } from "../core/take";
import { checkBrowser } from "./browser";
import type { FromWorker, ToWorker } from "./messages";

export interface Loaded {
  model: string;
  kinds: readonly PromptKind[];
  threads: number;
}

export type OnProgress = (loaded: number, total: number) => void;

/** Answers by a worker, which has one model at a time. */
export class Session {
  private readonly worker: Worker;
  private runs = 0;
  private onLoad: ((message: FromWorker) => void) | null = null;
  private onRun: ((message: FromWorker) => void) | null = null;

  /** Throws an Error if this browser cannot run models. */
  constructor(worker?: Worker) {
    checkBrowser();
    this.worker = worker ?? new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    this.worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      const isOfRun = data.kind === "event" || (data.kind === "failed" && data.id !== null);
      (isOfRun ? this.onRun : this.onLoad)?.(data);
    });
    this.worker.addEventListener("error", ({ message }) => {
      const failed = { kind: "failed" as const, message: message || "the tab's worker could not be started" };
      this.onLoad?.({ ...failed, id: null });
      this.onRun?.({ ...failed, id: this.runs });
    });
  }

  private send(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  /** Gets a model, from the server or from what was kept of it. Rejects with an Error that says what went wrong. */
  load(model: string, onProgress: OnProgress): Promise<Loaded> {
    return new Promise((resolve, reject) => {
      this.onLoad = (message) => {
        if (message.kind === "progress") onProgress(message.loaded, message.total);
        else if (message.kind === "failed") reject(new Error(message.message));
        else if (message.kind === "ready") {
          void keepForOffline(message.urls);
          resolve(message);
        }
      };
      this.send({ kind: "load", model });
    });
  }

  /** The take after each step of an answer. Throws nothing. */
  async *run(model: string, prompt: string, seed: number): AsyncGenerator<Take> {
    const id = ++this.runs;
    const waiting: FromWorker[] = [];
    let wake = (): void => undefined;
    this.onRun = (message) => {
      waiting.push(message);
      wake();
    };
    this.send({ kind: "run", id, prompt, seed });
    const begun = newTake(seed);
    let events: CanvasEvent[] = [];
    let view = emptyView("");
    let frames: readonly CanvasView[] = [];
    for (;;) {
      const message = waiting.shift();
      if (message === undefined) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      if (message.kind === "failed" && message.id === id) {
        yield { ...begun, frames, status: "failed", error: message.message };
        return;
      }
      if (message.kind !== "event" || message.id !== id) continue;
      events = [...events, message.event];
      view = applyEvent(view, message.event);
      frames = withView(frames, view, message.event);
      const isOver = message.event.type === "canvas.done";
      const status = !isOver ? "running" : view.status === "cancelled" ? "stopped" : "done";
      yield { ...begun, traces: [newTrace(model, { model, prompt, seed }, events)], frames, status };
      if (isOver) return;
    }
  }

  /** Ends the answer in work after its next step. */
  stop(): void {
    this.send({ kind: "stop" });
  }

  close(): void {
    this.worker.terminate();
  }
}

const SHELL = "sfumato-tab-shell";

/** Keeps the page, its scripts and those of the worker, so that the page opens without a network. */
async function keepForOffline(urls: readonly string[]): Promise<void> {
  if (!("serviceWorker" in navigator)) return;
  try {
    // Of all paths, as a worker is in the scope that its script is in: /assets.
    await navigator.serviceWorker.register("/tab-worker.js", { scope: "/" });
    const cache = await caches.open(SHELL);
    const used = performance.getEntriesByType("resource").map(({ name }) => new URL(name));
    const own = used.filter(
      ({ origin, pathname }) =>
        origin === location.origin && /^\/(assets\/|icon\.svg|looks\.js)/.test(pathname),
    );
    const wanted = new Set(
      [...own.map(({ href }) => href), ...urls, "/tab"].map((url) => new URL(url, location.href).href),
    );
    // What was kept stays true: names of assets change with what is in them.
    const kept = new Map((await cache.keys()).map((request) => [request.url, request]));
    if (navigator.onLine) {
      await cache.addAll([...wanted].filter((url) => !kept.has(url) || url.endsWith("/tab")));
      for (const [url, request] of kept) if (!wanted.has(url)) await cache.delete(request);
    }
    document.documentElement.dataset["offline"] = "ready";
  } catch {
    // No room, or no network by now: the tab works, and asks the server again the next time.
  }
}
