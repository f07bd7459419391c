/** A text in an editor: edits by hand, rewrites by the model, undo. */
import { redo, redoDepth, undo, undoDepth } from "@codemirror/commands";
import { Annotation, Compartment, EditorState, Text, Transaction, type Extension } from "@codemirror/state";
import { EditorView, type ViewUpdate } from "@codemirror/view";
import { api, ApiError } from "../core/api";
import { difference, ServerDocument, spansIn, Stale } from "../core/document";
import { sentenceOf } from "../core/files";
import type { CanvasBody, Revision, Span } from "../core/protocol";
import { marker } from "./code";
import { Review } from "./review";

const SYNC_AFTER_MS = 1500;
const AGAIN_AFTER_MS = 5000;

const fromServer = Annotation.define<boolean>();

/** What the page shows of it. */
export interface SessionHost {
  readonly model: string;
  readonly instruction: string;
  requestUpdate(): void;
  /** The text has another canvas; null where it has none. */
  onDocument(document: ServerDocument | null): void;
}

export interface SessionState {
  readonly mode: "idle" | "running" | "review";
  readonly status: string;
  readonly isRefusal: boolean;
  readonly numSelected: number;
  readonly revisions: readonly Revision[];
}

/** A text as it was left: typed perhaps after the server's last revision, or with changes to review. */
export interface Left {
  readonly text: string;
  /** Its canvas; null if it has none. */
  readonly id: string | null;
  /** The text before the changes that are under review; null if there are none. */
  readonly base: string | null;
}

export class EditingSession {
  state: SessionState = { mode: "idle", status: "", isRefusal: false, numSelected: 0, revisions: [] };
  readonly review = new Review();
  private editor!: EditorView;
  /** The canvas that holds the text; null before there is one. */
  document: ServerDocument | null = null;
  private undone: string[] = [];
  private attempts = 0;
  /** How often a text was opened, so that a slow answer does not replace a newer one. */
  private openings = 0;
  private working: Promise<unknown> = Promise.resolve();
  private stopping = new AbortController();
  private syncing = 0;
  private readonly noise = marker("cm-noise");
  private readonly readOnly = new Compartment();

  /** `opened` is the text before any change. */
  constructor(
    private readonly host: SessionHost,
    private opened: string,
  ) {}

  get extension(): Extension {
    return [
      this.noise.extension,
      this.review.extension,
      this.readOnly.of([]),
      EditorView.updateListener.of((update) => this.onUpdate(update)),
    ];
  }

  get isRunning(): boolean {
    return this.state.mode === "running";
  }

  private show(change: Partial<SessionState>): void {
    this.state = { ...this.state, ...change };
    this.host.requestUpdate();
  }

  attach(editor: EditorView): void {
    this.editor = editor;
  }

  /** Another text is in the editor now. */
  reset(text: string): void {
    clearTimeout(this.syncing);
    this.openings++;
    [this.undone, this.attempts] = [[], 0];
    this.show({ mode: "idle", numSelected: 0 });
    this.forget(text);
  }

  /** Continues with another model, on a canvas of its own. */
  changeModel(model: string): void {
    if (this.document !== null && this.document.model !== model) this.forget();
  }

  /** The text goes on as another canvas. */
  forget(text = this.text): void {
    [this.opened, this.document] = [text, null];
    this.show({ revisions: [] });
    this.host.onDocument(null);
  }

  get text(): string {
    return this.editor.state.doc.toString();
  }

  tell(text: string, isRefusal = false): void {
    this.show({ status: text, isRefusal });
  }

  /** Runs one task at a time; errors are shown. */
  inTurn(work: () => Promise<unknown>): void {
    this.working = this.working.then(work).catch(async (error: unknown) => {
      if (error instanceof Stale) {
        this.take(error.text);
        this.endReview();
        await this.listRevisions();
      } else if (error instanceof ApiError && error.detail.code === "no_undo") {
        this.tell("There is nothing to undo.");
        return;
      } else if (error instanceof ApiError && error.detail.code === "canvas_not_found") {
        this.forget();
        this.tell("The server no longer has this text; what you see is kept there as a new one.", true);
        return;
      }
      this.tell(sentenceOf(error), true);
    });
  }

  private async listRevisions(): Promise<void> {
    const all = (await this.document?.revisions()) ?? [];
    // An attempt that changed nothing is none to go back to.
    this.show({ revisions: all.filter(({ text }, i) => text !== all[i - 1]?.text) });
  }

  /** Sends hand edits to the server; the first time, the opened text before them. */
  private async sync(): Promise<ServerDocument> {
    clearTimeout(this.syncing);
    if (this.document === null) {
      if (this.host.model === "")
        throw new Error("no model of this server edits texts; serve one that does: tiny");
      this.document = await ServerDocument.create(api, this.host.model, this.opened);
      this.host.onDocument(this.document);
    }
    await this.document.sync(this.text);
    await this.listRevisions();
    return this.document;
  }

  /** Shows the server's text, changing only what differs. */
  private take(text: string): void {
    const change = difference(this.text, text);
    if (change !== null) this.dispatch([change]);
  }

  private dispatch(changes: readonly { from: number; to: number; insert: string }[]): void {
    this.editor.dispatch({
      changes: changes.map((each) => ({ ...each, insert: Text.of(each.insert.split("\n")) })),
      annotations: [fromServer.of(true), Transaction.addToHistory.of(false)],
    });
  }

  /** Opens a canvas, with what was typed there or not reviewed yet, unless another text is opened first. */
  open(id: string, left: Left | null = null): void {
    const opening = ++this.openings;
    this.inTurn(async () => {
      if (opening !== this.openings) return;
      this.endReview();
      const shown = this.text;
      const document = await ServerDocument.open(api, id);
      if (opening === this.openings)
        await this.showDocument(
          document,
          left !== null && this.text !== shown ? { ...left, text: this.text } : left,
        );
    });
  }

  private async showDocument(document: ServerDocument, left: Left | null): Promise<void> {
    this.document = document;
    this.host.onDocument(document);
    this.opened = document.text;
    this.take(document.text);
    const typed = left === null ? null : difference(this.text, left.text);
    if (typed !== null) {
      const insert = Text.of(typed.insert.split("\n"));
      this.editor.dispatch({ changes: { ...typed, insert } });
    }
    if (left !== null && left.base !== null && left.base !== left.text) this.beginReview(left.base);
    await this.listRevisions();
  }

  /** What a page that is loaded again needs to go on. */
  get left(): Left {
    const base = this.state.mode === "review" ? this.review.base(this.editor) : null;
    return { text: this.text, id: this.document?.id ?? null, base };
  }

  private beginReview(before: string): void {
    const count = this.review.begin(this.editor, before);
    this.show({ mode: "review" });
    this.tell(count === 1 ? "One change: accept or reject it." : `${count} changes: accept or reject each.`);
  }

  rewrite(): void {
    if (this.isRunning) return;
    if (this.text.trim() === "") {
      this.tell("The file is empty: write something, or open a file.", true);
      return;
    }
    this.endReview();
    this.inTurn(async () => {
      if (this.state.mode !== "idle") return;
      const { ranges } = this.editor.state.selection;
      const spans = ranges.filter(({ empty }) => !empty).map(({ from, to }): Span => [from, to]);
      this.stopping = new AbortController();
      // Nothing is typed from here on, or it would be lost.
      this.begin(spans);
      let document: ServerDocument | null = null;
      try {
        document = await this.sync();
        const before = document.text;
        let [shown, drafts] = [spans, 0];
        const show = (draft: string) => {
          shown = this.showDraft(before, spans, shown, draft);
          this.tell(`Writing: draft ${++drafts} …`);
        };
        const task = { spans, instruction: this.host.instruction.trim(), seed: this.attempts++ };
        const result = await document.rewrite(task, show, this.stopping.signal);
        this.end(result.text);
        this.finish(before, result);
      } catch (error) {
        if (error instanceof ApiError && error.detail.param === "text" && spans.length === 0)
          throw new Error(`${sentenceOf(error)} Select what to rewrite.`);
        if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
        await document?.refresh();
        this.tell("Stopped; the text is as it was.");
      } finally {
        this.end(document?.text ?? this.text);
        await this.listRevisions();
      }
    });
  }

  private begin(spans: readonly Span[]): void {
    this.show({ mode: "running" });
    this.tell("Reading …");
    this.noise.set(this.editor, spans);
    this.editor.dispatch({ effects: this.readOnly.reconfigure(EditorState.readOnly.of(true)) });
  }

  /** Puts a draft where it belongs; returns where its spans are. */
  private showDraft(before: string, spans: readonly Span[], shown: readonly Span[], draft: string): Span[] {
    const found = spans.length === 0 ? null : spansIn(before, spans, draft);
    if (found !== null && found.length === shown.length) {
      this.dispatch(
        shown.map(([from, to], i) => ({ from, to, insert: draft.slice(...(found[i] ?? [0, 0])) })),
      );
      this.noise.set(this.editor, found);
      return found;
    }
    this.take(draft);
    const change = difference(before, draft);
    this.noise.set(this.editor, change === null ? [] : [[change.from, change.from + change.insert.length]]);
    return [];
  }

  private end(text: string): void {
    if (!this.isRunning) return;
    this.show({ mode: "idle" });
    this.noise.set(this.editor, []);
    this.take(text);
    this.editor.dispatch({ effects: this.readOnly.reconfigure([]) });
  }

  private finish(before: string, result: CanvasBody): void {
    if (result.text !== before) this.beginReview(before);
    else if (result.finish_reason === "unsure") {
      const hint = this.state.numSelected > 0 ? "select something else" : "select what is wrong";
      this.tell(`The model is not sure enough, so nothing was written; ${hint}.`, true);
    } else this.tell("The model would not change anything.");
  }

  endReview(): void {
    if (this.state.mode !== "review") return;
    this.show({ mode: "idle" });
    this.review.end(this.editor);
    if (this.document?.text === this.text) this.tell("Accepted.");
    else this.inTurn(() => this.sync().then(() => this.tell("The changes you rejected are undone.")));
    this.editor.focus();
  }

  stop(): boolean {
    if (this.isRunning) this.stopping.abort();
    return this.isRunning;
  }

  /** Takes back what was typed and not sent yet; else goes to the revision before. */
  undo(): void {
    if (this.isRunning) return;
    const isAhead = this.text !== (this.document?.text ?? this.opened);
    if (isAhead && undoDepth(this.editor.state) > 0) {
      undo(this.editor);
      return;
    }
    this.inTurn(async () => {
      const document = await this.sync();
      const before = document.text;
      await document.undo();
      this.take(document.text);
      this.endReview();
      this.undone.push(before);
      await this.listRevisions();
      this.tell("Undone: the text is as it was before.");
    });
  }

  redo(): void {
    if (this.isRunning) return;
    const text = this.undone.pop();
    if (text !== undefined) this.restore(text, "Redone.");
    else if (redoDepth(this.editor.state) > 0) redo(this.editor);
  }

  restore(text: string, said: string): void {
    if (this.isRunning) return;
    this.endReview();
    this.inTurn(async () => {
      await this.sync();
      this.take(text);
      await this.sync();
      this.tell(said);
    });
  }

  private onUpdate(update: ViewUpdate): void {
    const numSelected = update.state.selection.ranges.filter(({ empty }) => !empty).length;
    if (numSelected !== this.state.numSelected) this.show({ numSelected });
    // Not during this update itself.
    if (this.state.mode === "review" && this.review.count(update.view) === 0)
      queueMicrotask(() => this.endReview());
    if (!update.transactions.some((each) => each.docChanged && each.annotation(fromServer) !== true)) return;
    this.undone = [];
    clearTimeout(this.syncing);
    if (this.document !== null) this.syncLater(SYNC_AFTER_MS);
  }

  /** Tries again until the server can be reached. */
  private syncLater(ms: number): void {
    const send = async () => {
      try {
        await this.sync();
        if (this.state.isRefusal) this.tell("");
      } catch (error) {
        if (error instanceof ApiError && error.status === 0) this.syncLater(AGAIN_AFTER_MS);
        throw error;
      }
    };
    this.syncing = window.setTimeout(() => this.inTurn(send), ms);
  }
}
