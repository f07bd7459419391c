/**
 * A text that lives on the server as a canvas: hand edits and the model's are revisions of it.
 *
 * What is written here is ahead of the server until `sync`; places are those of the browser.
 */
import { ApiError, type Api } from "./api";
import { Offsets } from "./offsets";
import type { CanvasBody, CanvasEvent, EditRequest, Revision, Span } from "./protocol";

/** A replacement of a part of a text. */
export interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** What the model is asked to do; without spans, it looks for what it doubts. */
export interface Task {
  readonly spans: readonly Span[];
  readonly instruction: string;
  readonly seed: number;
}

/** Another edit came first; `text` is what the server has now. */
export class Stale extends Error {
  override name = "Stale";

  constructor(readonly text: string) {
    super(
      "This text was changed elsewhere meanwhile. What you see now is the newest; what you wrote since is left out.",
    );
  }
}

export class ServerDocument {
  private constructor(
    private readonly api: Api,
    readonly id: string,
    readonly model: string,
    private body: CanvasBody,
  ) {}

  /** A new canvas whose first revision is the text as it is. */
  static async create(api: Api, model: string, text: string): Promise<ServerDocument> {
    // Of no spans the model writes none.
    const body = await api.json<CanvasBody>("POST", "/v1/canvas", { model, text, spans: [] });
    return new ServerDocument(api, body.id, model, body);
  }

  /** One that is there. */
  static async open(api: Api, id: string): Promise<ServerDocument> {
    const body = await api.canvas(id);
    return new ServerDocument(api, id, body.model, body);
  }

  get rev(): number {
    return this.body.rev;
  }

  /** As the server has it. */
  get text(): string {
    return this.body.text;
  }

  get isRunning(): boolean {
    return this.body.status === "running";
  }

  /** Sends hand edits to the server. */
  async sync(text: string): Promise<void> {
    const change = difference(this.text, text);
    if (change === null) return;
    const offsets = new Offsets(this.text);
    const [start, end] = [offsets.toCharacters(change.from), offsets.toCharacters(change.to)];
    const replace = [{ start, end, text: change.insert }];
    await this.change(() => this.api.edit(this.id, { base_rev: this.rev, replace, rewrite: false }));
  }

  /**
   * Has the model write, in the text as the server has it.
   *
   * `onDraft` gets each draft of the whole text. The canvas as the model left it; Stale and ApiError as for all requests.
   */
  async rewrite(task: Task, onDraft: (draft: string) => void, signal: AbortSignal): Promise<CanvasBody> {
    const offsets = new Offsets(this.text);
    const request: EditRequest = { base_rev: this.rev, rewrite: true, seed: task.seed, every_step: true };
    if (task.instruction !== "") request.instruction = task.instruction;
    if (task.spans.length > 0) {
      request.spans = task.spans.map(([from, to]) => [offsets.toCharacters(from), offsets.toCharacters(to)]);
    }
    const ended = new AbortController();
    const following = this.follow(onDraft, AbortSignal.any([ended.signal, signal]));
    try {
      return await this.change(() => this.api.edit(this.id, request, signal));
    } finally {
      ended.abort();
      await following;
    }
  }

  private async follow(onDraft: (draft: string) => void, signal: AbortSignal): Promise<void> {
    let text = this.text;
    try {
      for await (const event of this.api.follow(this.id, { after: this.body.seq, signal })) {
        const next = draftAfter(text, event);
        if (next !== text && !signal.aborted) onDraft((text = next));
      }
    } catch {
      // The answer to the request itself says what went wrong.
    }
  }

  /** Returns to the previous revision. */
  async undo(): Promise<void> {
    await this.change(() => this.api.undo(this.id, this.rev));
  }

  revisions(): Promise<Revision[]> {
    return this.api.revisions(this.id);
  }

  /** What the server has now: after a request was broken off, it is not known here. */
  async refresh(): Promise<void> {
    this.body = await this.api.canvas(this.id);
  }

  private async change(ask: () => Promise<CanvasBody>): Promise<CanvasBody> {
    try {
      return (this.body = await ask());
    } catch (error) {
      if (!(error instanceof ApiError) || error.detail.code !== "stale_revision") throw error;
      await this.refresh();
      throw new Stale(this.text);
    }
  }
}

/** A text after what happened to it; characters are those of the server. */
export function draftAfter(text: string, event: CanvasEvent): string {
  if (event.type === "canvas.snapshot" || event.type === "canvas.done") return event.text;
  if (event.type !== "canvas.patch") return text;
  for (const { chars, text: inserted } of event.changes) {
    const offsets = new Offsets(text);
    text = text.slice(0, offsets.toUnits(chars[0])) + inserted + text.slice(offsets.toUnits(chars[1]));
  }
  return text;
}

/** Where two texts differ, from their first difference to their last; null where they do not. No pair is cut. */
export function difference(before: string, after: string): Replacement | null {
  if (before === after) return null;
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  if (isHalf(before, head) || isHalf(after, head)) head--;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  if (isHalf(before, before.length - tail) || isHalf(after, after.length - tail)) tail--;
  return { from: head, to: before.length - tail, insert: after.slice(head, after.length - tail) };
}

function isHalf(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/**
 * Where spans of a text are in another text that differs only in them; null if it differs elsewhere too.
 *
 * With several spans there may be more than one way to see it; then the first.
 */
export function spansIn(text: string, spans: readonly Span[], other: string): Span[] | null {
  const found: Span[] = [];
  let [at, from] = [0, 0];
  for (let i = 0; i <= spans.length; i++) {
    const [start, end] = spans[i] ?? [text.length, text.length];
    const between = text.slice(at, start);
    const isLast = i === spans.length;
    const place = isLast && i > 0 ? other.length - between.length : other.indexOf(between, from);
    if (place < from || !other.startsWith(between, place) || (i === 0 && place > 0)) return null;
    if (isLast && place + between.length !== other.length) return null;
    const last = found.at(-1);
    if (last !== undefined) last[1] = place;
    from = place + between.length;
    if (!isLast) found.push([from, from]);
    at = end;
  }
  return found;
}
