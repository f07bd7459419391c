/** The server's API, through which all of the studio goes. */
import type {
  CanvasBody,
  CanvasEvent,
  CanvasRequest,
  EditRequest,
  ErrorBody,
  Message,
  ModelCard,
  Revision,
  Usage,
} from "./protocol";
import { serverEvents } from "./sse";

/** A refusal, or with status 0, no answer at all. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly status: number,
    readonly detail: ErrorBody,
  ) {
    // Its end may list examples for a terminal; pages show those of the model's card.
    super(detail.message.replace(/; allowed, for example:\n[^]*$/, "."));
  }
}

// Where the browser blocks storage, a key lasts as long as the page.
function storedKey(): string {
  try {
    return sessionStorage.getItem("key") ?? "";
  } catch {
    return "";
  }
}

function storeKey(key: string): void {
  try {
    sessionStorage.setItem("key", key);
  } catch {
    // As above.
  }
}

/** Defaults for what the card of a remote model leaves out. */
const UNKNOWN: Omit<ModelCard, "id"> = {
  context_length: null,
  capabilities: [],
  loaded: true,
  sfumato: {
    noise: null,
    canvas_length: 1,
    steps: null,
    temperature: null,
    sampler: null,
    samplers: [],
    limits: {},
    max_tokens: null,
    tasks: [],
    kinds: [],
    parameters: [],
  },
};

const RETRY_AFTER_MS = [50, 100, 300, 1000, 1000, 2000, 3000, 3000];

export class Api {
  /** Asks for a key; the refused request is sent again with it. */
  askForKey: () => Promise<string | null> = () => Promise.resolve(null);
  private asking: Promise<string | null> | null = null;

  constructor(
    readonly base = "",
    private readonly fetcher: typeof fetch = (input, init) => fetch(input, init),
    private key = storedKey(),
  ) {}

  async models(): Promise<ModelCard[]> {
    const { data } = await this.json<{ data: (Partial<ModelCard> & { id: string })[] }>("GET", "/v1/models");
    // The card of a remote model may leave anything out.
    return data.map((card) => ({ ...UNKNOWN, ...card, sfumato: { ...UNKNOWN.sfumato, ...card.sfumato } }));
  }

  /** Starts canvases, which continue without a reader; `follow` reads their events. */
  async createCanvases(body: CanvasRequest): Promise<CanvasBody[]> {
    const made = await this.json<CanvasBody | { data: CanvasBody[] }>("POST", "/v1/canvas", {
      ...body,
      background: true,
    });
    return "data" in made ? made.data : [made];
  }

  async createCanvas(body: Omit<CanvasRequest, "n">): Promise<CanvasBody> {
    const [made] = await this.createCanvases(body);
    if (made === undefined) throw new ApiError(0, { message: "the server made no canvas" });
    return made;
  }

  canvas(id: string): Promise<CanvasBody> {
    return this.json("GET", `/v1/canvas/${id}`);
  }

  /** Changes a canvas; resolves with its next revision. */
  edit(id: string, body: EditRequest, signal?: AbortSignal): Promise<CanvasBody> {
    return this.json("POST", `/v1/canvas/${id}/edits`, body, signal);
  }

  /** Requests a picture for a slot of a canvas; the canvas's events say when it is ready. */
  async addPicture(id: string, picture: { slot: string; prompt: string; size: string }): Promise<void> {
    await this.json("POST", `/v1/canvas/${id}/assets`, picture);
  }

  undo(id: string, baseRev: number): Promise<CanvasBody> {
    return this.json("POST", `/v1/canvas/${id}/undo`, { base_rev: baseRev });
  }

  async revisions(id: string): Promise<Revision[]> {
    return (await this.json<{ data: Revision[] }>("GET", `/v1/canvas/${id}/revisions`)).data;
  }

  /** Cancels work on a canvas, and deletes it. */
  async deleteCanvas(id: string): Promise<void> {
    await this.json("DELETE", `/v1/canvas/${id}`);
  }

  /**
   * What happens to a canvas, until nothing more does: each event once, in order, from the one behind `after` on. A
   * connection that breaks, or loses something, is taken up again where it was.
   *
   * With `pictures` it goes on until those of the canvas are there too. Throws ApiError if the server refuses, or cannot
   * be reached for about ten seconds.
   */
  async *follow(
    id: string,
    options: { after?: number; signal?: AbortSignal; pictures?: boolean } = {},
  ): AsyncGenerator<CanvasEvent> {
    let { after } = options;
    for (let failures = 0; ;) {
      try {
        const path = `/v1/canvas/${id}/events${after === undefined ? "" : `?after=${after}`}`;
        const response = await this.request("GET", path, undefined, options.signal);
        for await (const { data } of serverEvents(response.body ?? new Blob().stream())) {
          const event = JSON.parse(data) as CanvasEvent;
          const isWhole = event.type === "canvas.snapshot";
          if (after !== undefined && (isWhole ? event.seq < after : event.seq <= after)) continue;
          // Events are missing: reconnect from here.
          if (!isWhole && after !== undefined && event.seq > after + 1) {
            throw new ApiError(0, { message: "events are missing" });
          }
          failures = 0;
          after = event.seq;
          yield event;
          if (options.pictures === true) continue;
          if (event.type === "canvas.done" || event.type === "canvas.error") return;
          if (event.type === "canvas.snapshot" && event.status !== "running") return;
        }
        if (options.pictures === true && !isBusy(await this.canvas(id))) return;
        // The stream ended before the canvas did.
        throw new ApiError(0, { message: "the connection ended" });
      } catch (error) {
        if (options.signal?.aborted === true) return;
        const wait = RETRY_AFTER_MS[failures++];
        if (wait === undefined || (error instanceof ApiError && error.status !== 0)) throw error;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  /** A canvas from its first step, for as long as it is read. A broken connection is not resumed. */
  async *stream(body: Omit<CanvasRequest, "n">, signal?: AbortSignal): AsyncGenerator<CanvasEvent> {
    const response = await this.request("POST", "/v1/canvas", { ...body, stream: true }, signal);
    if (response.body === null) return;
    for await (const { data } of serverEvents(response.body)) yield JSON.parse(data) as CanvasEvent;
  }

  /** A conversation's answer, as its committed text grows. */
  async *chat(
    body: { model?: string; messages: Message[]; [option: string]: unknown },
    signal?: AbortSignal,
  ): AsyncGenerator<ChatChunk> {
    const asked = { ...body, stream: true, stream_options: { include_usage: true } };
    const response = await this.request("POST", "/v1/chat/completions", asked, signal);
    if (response.body === null) return;
    for await (const { data } of serverEvents(response.body)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data) as ChatChunk | { error: ErrorBody };
      if ("error" in chunk) throw new ApiError(response.status, chunk.error);
      yield chunk;
    }
  }

  /** An answer in JSON. */
  async json<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    return (await (await this.request(method, path, body, signal)).json()) as T;
  }

  private async newKey(): Promise<string | null> {
    this.asking ??= this.askForKey().finally(() => (this.asking = null));
    const key = await this.asking;
    if (key !== null && !/^[\x21-\x7e]+$/.test(key)) {
      throw new ApiError(401, { message: "A key has only ASCII letters, digits and signs." });
    }
    if (key !== null) storeKey((this.key = key));
    return key;
  }

  /** A response with status 2xx. */
  async request(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    const isRaw = typeof body === "string" || body instanceof FormData;
    const { key } = this;
    const headers: Record<string, string> = key === "" ? {} : { Authorization: `Bearer ${key}` };
    if (body !== undefined && !isRaw) headers["Content-Type"] = "application/json";
    let response: Response;
    try {
      response = await this.fetcher(this.base + path, {
        method,
        headers,
        body: isRaw ? body : body === undefined ? null : JSON.stringify(body),
        signal: signal ?? null,
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ApiError(0, { message: "the server cannot be reached; is it running?" });
    }
    if (response.ok) return response;
    // Of requests refused together, only the first asks; later ones find the new key.
    if (response.status === 401 && (this.key !== key || (await this.newKey()) !== null)) {
      return this.request(method, path, body, signal);
    }
    const said = (await response.json().catch(() => null)) as { error?: ErrorBody } | null;
    throw new ApiError(response.status, said?.error ?? { message: `the server answered ${response.status}` });
  }
}

/** Whether anything of it is still being made. */
function isBusy({ status, assets = [] }: CanvasBody): boolean {
  return status === "running" || assets.some((asset) => asset.status === "pending");
}

export interface ChatChunk {
  choices: { index: number; delta: { content?: string }; finish_reason: string | null }[];
  usage?: Usage | null;
}

/** The server that the page came from. */
export const api = new Api();
