/** A file, revised where you say and only there. */
import { indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { python } from "@codemirror/lang-python";
import { goToNextChunk, goToPreviousChunk, rejectChunk } from "@codemirror/merge";
import { Compartment, EditorState, Prec, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { html, LitElement, nothing, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { controls } from "../components/base";
import { codeEditor, codeState, indenting } from "../components/code";
import { ghostText } from "../components/ghost";
import { acceptChange } from "../components/review";
import { Models } from "../components/models";
import "../components/revisions";
import { otherTab } from "../components/other-tab";
import { startStop } from "../components/start-stop";
import { EditingSession, type Left, type SessionHost } from "../components/session";
import { api } from "../core/api";
import type { ServerDocument } from "../core/document";
import { readText, saveFile, sentenceOf } from "../core/files";
import { undoKey } from "../core/keys";
import { onRemembered, remember, remembered } from "../core/preferences";
import type { ModelCard, Revision } from "../core/protocol";
import { navigate } from "../core/router";
import { announce, say } from "../core/say";
import { examples, type Example } from "./editor-examples";
import { editorStyles } from "./editor-styles";

interface Infilled {
  readonly choices: readonly { readonly text: string }[];
  readonly sfumato?: { readonly finish_reasons: readonly string[] };
}

/** What the file is remembered under. */
const FILE = "editor.file";
const KEPT_AFTER_MS = 1000;
const LABEL = "Text of the file";
const MAX_PROPOSED_TOKENS = 32;
/** What comes later is about a text that has gone on. */
const PROPOSED_WITHIN_MS = 2000;

/** A file as it was left. */
interface Kept extends Left {
  readonly name: string;
}

function readFile(kept: unknown): Kept {
  const { name, text, id = null, base = null } = (kept ?? {}) as Record<keyof Kept, unknown>;
  const isKnown = typeof name === "string" && typeof text === "string";
  const { name: first, text: example } = examples[0] ?? { name: "", text: "" };
  if (!isKnown) return { name: first, text: example, id: null, base: null };
  const orNull = (value: unknown) => (typeof value === "string" ? value : null);
  return { name, text, id: orNull(id), base: orNull(base) };
}

@customElement("sf-editor-page")
export class EditorPage extends LitElement implements SessionHost {
  /** The canvas that holds the text, so that a page that is loaded again has it. */
  @property() place = "";
  private readonly models = new Models(
    this,
    ({ capabilities, sfumato: { kinds } }) =>
      capabilities.includes("edit") &&
      (kinds.length === 0 || kinds.some(({ instruction }) => typeof instruction === "string")),
    (cards) => {
      this.chooseModel(cards[0]?.id ?? "");
      this.openPlace();
    },
  );
  @state() model = "";
  @state() instruction = "";
  /** What the editor begins with: the file as it was left, or an example. */
  private readonly first = readFile(remembered<unknown>(FILE, null));
  @state() private fileName = this.first.name;
  @state() private proposes = remembered("editor.proposes", true);
  /** The file as another tab left it, where that is not as it is here. */
  @state() private other: Kept | null = null;
  @query(".editor") private mount!: HTMLElement;
  @query("input[type=file]") private picker!: HTMLInputElement;

  private editor!: EditorView;
  private readonly session = new EditingSession(this, this.first.text);
  private kept = this.first;
  private keeping = 0;
  private readonly proposing = new Compartment();
  private readonly language = new Compartment();

  static override styles = [controls, editorStyles];

  override firstUpdated(): void {
    onRemembered(FILE, (kept) => this.onKept(readFile(kept)));
    this.editor = codeEditor({
      parent: this.mount,
      root: this.renderRoot as ShadowRoot,
      label: LABEL,
      text: this.first.text,
      extensions: this.extensions(this.first.text),
    });
    this.session.attach(this.editor);
    // What is asked before the models are there waits for them.
    this.session.inTurn(() => this.models.load().catch(() => undefined));
  }

  override updated(changed: PropertyValues): void {
    if (changed.has("place")) this.openPlace();
  }

  /** Opens the canvas of the path: the page was loaded again, or the browser went back. */
  private openPlace(): void {
    const { place } = this;
    if (this.models.cards === null || place === "" || place === this.session.document?.id) return;
    this.session.open(place, this.first.id === place ? this.first : null);
  }

  onDocument(document: ServerDocument | null): void {
    if (document !== null && document.model !== this.model) this.chooseModel(document.model);
    if (this.isConnected)
      navigate(document === null ? "/editor" : `/editor/${document.id}`, { replace: true });
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("pagehide", this.keep);
    const { document } = this.session;
    if (document !== null && this.place === "") this.onDocument(document);
  }

  private get file(): Kept {
    return { name: this.fileName, ...this.session.left };
  }

  /** Keeps the file if it changed here, so that a tab that only shows it replaces nothing. */
  private keep = (): void => {
    clearTimeout(this.keeping);
    const { file } = this;
    if (JSON.stringify(file) === JSON.stringify(this.kept)) return;
    remember(FILE, (this.kept = file));
  };

  private onKept(other: Kept): void {
    const isSame = other.name === this.fileName && other.text === this.session.text;
    this.other = isSame ? null : other;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("pagehide", this.keep);
    this.keep();
  }

  private get card(): ModelCard | undefined {
    return this.models.find(this.model);
  }

  private get canPropose(): boolean {
    return this.card?.capabilities.includes("infill") === true;
  }

  private get instructions(): string[] {
    const kinds = this.card?.sfumato.kinds ?? [];
    return kinds.flatMap(({ instruction }) => (typeof instruction === "string" ? [instruction] : []));
  }

  private extensions(text: string): Extension {
    const always = (command: () => void) => () => {
      command();
      return true;
    };
    return [
      Prec.high(
        keymap.of([
          { key: "Mod-Enter", run: always(() => this.session.rewrite()) },
          { key: "Mod-y", run: always(() => this.session.redo()) },
          { key: "Mod-s", run: always(() => this.save()) },
          { key: "Mod-o", run: always(() => this.picker.click()) },
          { key: "F8", run: goToNextChunk, shift: goToPreviousChunk },
          { key: "Mod-Alt-y", run: (view) => acceptChange(view) },
          { key: "Mod-Alt-n", run: (view) => rejectChunk(view) },
          { key: "Escape", run: () => this.session.stop() },
        ]),
      ),
      keymap.of([indentWithTab]),
      this.language.of(this.writing(text)),
      this.session.extension,
      EditorView.updateListener.of(({ docChanged }) => {
        if (!docChanged) return;
        clearTimeout(this.keeping);
        this.keeping = window.setTimeout(this.keep, KEPT_AFTER_MS);
      }),
      this.proposing.of(this.proposals()),
      EditorState.allowMultipleSelections.of(true),
      // Not in the keymap, which takes Shift and Z for Z while Caps Lock is on.
      Prec.high(EditorView.domEventHandlers({ keydown: (event) => this.onUndoKey(event) })),
      EditorView.domEventHandlers({
        drop: (event) => this.openDropped(event.dataTransfer),
        paste: (event) => this.openDropped(event.clipboardData),
      }),
    ];
  }

  private writing(text: string): Extension {
    if (this.fileName.endsWith(".json")) return [json(), indenting(text, 2)];
    return [this.fileName.endsWith(".py") ? python() : [], indenting(text, 4)];
  }

  private rename(event: Event): void {
    this.fileName = (event.target as HTMLInputElement).value;
    this.editor.dispatch({ effects: this.language.reconfigure(this.writing(this.session.text)) });
  }

  private onUndoKey(event: KeyboardEvent): boolean {
    const way = undoKey(event);
    if (way < 0) this.session.undo();
    if (way > 0) this.session.redo();
    return way !== 0;
  }

  private proposals(): Extension {
    if (!this.proposes || !this.canPropose) return [];
    const length = this.card?.context_length ?? 0;
    return ghostText(
      async (before, after, signal) => {
        // A character is a token at most, and the answer needs room too.
        const [prompt, suffix] = [before.slice(-length), after.slice(0, length / 2)];
        const body = { model: this.model, prompt, suffix, max_tokens: MAX_PROPOSED_TOKENS };
        const inTime = AbortSignal.any([signal, AbortSignal.timeout(PROPOSED_WITHIN_MS)]);
        const found = await api.json<Infilled>("POST", "/v1/fim/completions", body, inTime);
        // A text that had not settled when its steps were up is no proposal.
        const isSettled = found.sfumato?.finish_reasons[0] === "stop";
        return isSettled ? (found.choices[0]?.text ?? "") : "";
      },
      (text) => announce(`Suggestion: ${text}. Tab takes it, Escape dismisses it.`),
    );
  }

  private load(name: string, text: string): void {
    if (this.session.isRunning) return;
    const before = this.file;
    const run = () => this.resume(before);
    if (before.text !== "" && !examples.some((each) => each.text === before.text))
      say(`“${name}” took the place of “${before.name}”.`, { label: "Undo", run });
    this.fileName = name;
    this.editor.setState(codeState(text, LABEL, this.extensions(text)));
    this.session.reset(text);
    this.session.tell(`${name} is open.`);
  }

  /** Goes on with a file as it was left. */
  private resume(kept: Kept): void {
    this.load(kept.name, kept.base ?? kept.text);
    if (kept.id !== null) this.session.open(kept.id, kept);
  }

  private async openFile(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    try {
      this.load(file.name, await readText(file));
    } catch (error) {
      this.session.tell(sentenceOf(error), true);
    }
  }

  private openDropped(data: DataTransfer | null): boolean {
    if (data === null || data.files.length === 0) return false;
    void this.openFile(data.files[0]);
    return true;
  }

  private save(): void {
    const name = this.fileName || "text.txt";
    saveFile(name, this.session.text);
    this.session.tell(`${name} is saved.`);
  }

  private chooseModel(model: string): void {
    this.model = model;
    this.instruction = this.instructions[0] ?? "";
    this.session.changeModel(model);
    this.editor.dispatch({ effects: this.proposing.reconfigure(this.proposals()) });
  }

  override render() {
    const { isRunning, state } = this.session;
    return html`<div class="page">
      <h1>Editor</h1>
      <p class="muted intro">
        Select code, or nothing to let the model find what it doubts. Only that is rewritten, and you accept
        each change.
      </p>
      <div class="row">
        <input class="name" aria-label="Name of the file" .value=${this.fileName} @change=${this.rename} />
        <button @click=${() => this.picker.click()} ?disabled=${isRunning}>Open …</button>
        <button @click=${() => this.save()}>Save</button>
        <select aria-label="Examples" ?disabled=${isRunning} @change=${this.openExample}>
          <option value="">Examples …</option>
          ${examples.map(({ name }) => html`<option>${name}</option>`)}
          <option value="new">an empty file</option>
        </select>
        <input
          type="file"
          hidden
          aria-label="File to open"
          @change=${(event: Event) => {
            const input = event.target as HTMLInputElement;
            void this.openFile(input.files?.[0]).then(() => (input.value = ""));
          }}
        />
      </div>
      <div class="work">
        <div class="main">
          <div class="editor" @dragover=${(event: DragEvent) => event.preventDefault()}></div>
          ${state.mode === "review" ? this.decisions() : this.asking(isRunning)}
          ${this.other === null ? nothing : this.offer(this.other)}
          ${
            this.models.cards === null
              ? this.models.failure()
              : this.models.notice(
                  "No model on this server edits text; start it with one: sfumato serve tiny",
                )
          }
          <p class="status ${state.isRefusal ? "error" : "muted"}" role="status">${state.status}</p>
        </div>
        <aside class="card" aria-labelledby="revisions">
          <h2 id="revisions">Revisions</h2>
          <sf-revisions
            .revisions=${state.revisions}
            ?disabled=${isRunning}
            @sf-restore=${({ detail }: CustomEvent<Revision>) =>
              this.session.restore(detail.text, `Restored revision ${detail.rev}.`)}
          ></sf-revisions>
        </aside>
      </div>
      ${keys}
    </div>`;
  }

  private asking(isRunning: boolean) {
    const { numSelected } = this.session.state;
    const onChange = (event: Event) => (this.instruction = (event.target as HTMLInputElement).value);
    const places = numSelected === 1 ? "the selection" : `${numSelected} selections`;
    return html`<div class="ask">
        <label
          >Instruction
          ${
            // A model of fixed tasks takes only what it was trained on.
            this.instructions.length > 0
              ? html`<select @change=${onChange}>
                  ${this.instructions.map(
                    (each) => html`<option .selected=${each === this.instruction}>${each}</option>`,
                  )}
                </select>`
              : html`<input
                  .value=${this.instruction}
                  @input=${onChange}
                  @keydown=${(event: KeyboardEvent) => event.key === "Enter" && this.session.rewrite()}
                />`
          }</label
        >
        ${startStop({
          label: numSelected > 0 ? `Rewrite ${places}` : "Find and rewrite doubtful code",
          isRunning,
          canStart: this.card !== undefined,
          start: () => this.session.rewrite(),
          stop: () => this.session.stop(),
        })}
        <button ?disabled=${isRunning} @click=${() => this.session.undo()}>Undo</button>
        <button ?disabled=${isRunning} @click=${() => this.session.redo()}>Redo</button>
      </div>
      <div class="row">
        ${
          (this.models.cards?.length ?? 0) > 1
            ? html`<select aria-label="Model" ?disabled=${isRunning} @change=${this.onModel}>
                ${this.models.cards?.map(({ id }) => html`<option .selected=${id === this.model}>${id}</option>`)}
              </select>`
            : nothing
        }
        <label
          class="inline"
          title=${this.canPropose ? nothing : "This model writes no text between two others."}
          ><input
            type="checkbox"
            .checked=${this.proposes && this.canPropose}
            ?disabled=${!this.canPropose}
            @change=${this.onProposes}
          />Suggest as I type</label
        >
      </div>`;
  }

  private offer(other: Kept) {
    const take = () => {
      this.resume(other);
      this.other = null;
    };
    return otherTab(
      `Another tab left “${other.name}” with another text. Of several tabs, the one that changes its text last has it kept.`,
      [
        { label: "Take it over", run: take, disabled: this.session.isRunning },
        { label: "Go on with this one", run: () => (this.other = null) },
      ],
    );
  }

  private decisions() {
    return html`<div class="row" role="group" aria-label="All changes">
      <button class="primary" @click=${() => this.session.review.decideAll(this.editor, true)}>
        Accept all
      </button>
      <button @click=${() => this.session.review.decideAll(this.editor, false)}>Reject all</button>
      <button @click=${() => goToPreviousChunk(this.editor)}>Previous</button>
      <button @click=${() => goToNextChunk(this.editor)}>Next</button>
    </div>`;
  }

  private openExample(event: Event): void {
    const select = event.target as HTMLSelectElement;
    const found = examples.find(({ name }) => name === select.value);
    const { name, text, selected = "" }: Example = found ?? { name: "new.py", text: "" };
    if (select.value !== "") this.load(name, text);
    select.value = "";
    const anchor = text.indexOf(selected);
    if (selected !== "") this.editor.dispatch({ selection: { anchor, head: anchor + selected.length } });
  }

  private onModel(event: Event): void {
    this.chooseModel((event.target as HTMLSelectElement).value);
  }

  private onProposes(event: Event): void {
    this.proposes = (event.target as HTMLInputElement).checked;
    remember("editor.proposes", this.proposes);
    this.editor.dispatch({ effects: this.proposing.reconfigure(this.proposals()) });
  }
}

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["Ctrl Enter"], "rewrite"],
  [["Esc"], "stop, or dismiss a suggestion"],
  [["Tab"], "take a suggestion, or indent"],
  [["Esc", "Tab"], "leave the editor"],
  [["Ctrl Z"], "undo what was typed, then revisions"],
  [["Ctrl Shift Z"], "redo"],
  [["Ctrl F"], "search and replace"],
  [["F8", "Shift F8"], "next and previous change"],
  [["Ctrl Alt Y", "Ctrl Alt N"], "accept the change, or reject it"],
  [["Ctrl"], "and drag: select several places"],
  [["Ctrl O", "Ctrl S"], "open, save"],
];

const keys = html`<details class="keys">
  <summary>Keys</summary>
  <ul>
    ${KEYS.map(([pressed, what]) => html`<li>${pressed.map((key) => html`<kbd>${key}</kbd> `)}${what}</li>`)}
  </ul>
</details>`;
