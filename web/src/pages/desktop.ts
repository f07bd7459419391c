/** A desktop: its own apps work on files, and others are written when they are opened, each in a window. */
import { html, LitElement, nothing, type PropertyValues } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { styleMap } from "lit/directives/style-map.js";
import { controls } from "../components/base";
import { OwnApps, type Host } from "../components/own-apps";
import { otherTab } from "../components/other-tab";
import "../components/window";
import type { WindowElement } from "../components/window";
import { api } from "../core/api";
import {
  APPS,
  changed,
  closed,
  front,
  isSameContent,
  moved,
  opened,
  OWN_APPS,
  raised,
  restored,
  shortened,
  stored,
  withPage,
  type App,
  type Desktop,
  type Win,
} from "../core/desktop";
import { fileTree } from "../core/file-tree";
import { isFieldKey, undoKey, undoWords } from "../core/keys";
import type { Place, Room } from "../core/place";
import { onRemembered, remember, remembered } from "../core/preferences";
import { announce, say, sayError, tellMove } from "../core/say";
import { current } from "../core/steps";
import { nameOf, pathAfter, type System } from "../core/system";
import { MISFIT, type Effect } from "../ui/actions";
import { NotUnderstood, onto, UNCHANGED, write } from "../ui/author";
import { changesOf } from "../ui/changes";
import { execute } from "../ui/edits";
import type { Click } from "../ui/screen";
import "../ui/screen";
import { PageError, toText, type Component } from "../ui/tree";
import { desktopStyles } from "./desktop-styles";

const STORED = "desktop";
const ICONS = { files: "▤", terminal: ">_", settings: "⚙", file: "¶" } as const;

@customElement("sf-desktop-page")
export class DesktopPage extends LitElement implements Host {
  @property() place = "";
  @state() private desktop: Desktop = restored(remembered<unknown>(STORED, []));
  private readonly own = new OwnApps(this);
  /** The windows as another tab left them, where they show something else; null if they do not. */
  @state() private elsewhere: unknown = null;
  /** Whether an app is described. */
  @state() private isDescribed = false;
  private stopping = new Map<number, AbortController>();
  private asked = 0;
  /** The window that the keyboard is in; null if it is in none. */
  private focused: WindowElement | null = null;

  static override styles = [controls, desktopStyles];

  override firstUpdated(): void {
    onRemembered(STORED, (kept) => this.onKept(kept));
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("keydown", this.onKey);
    addEventListener("sf-looks", this.onLooks);
    this.onFiles(this.own.system, this.own.system);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.onKey);
    removeEventListener("sf-looks", this.onLooks);
  }

  private onLooks = (): void => this.requestUpdate();

  private onKey = (event: KeyboardEvent): void => {
    const by = undoKey(event);
    const win = front(this.desktop);
    if (isFieldKey(event)) {
      event.preventDefault();
      this.renderRoot.querySelector<HTMLInputElement>(".page > form input")?.focus();
    }
    if (by === 0 || win === undefined) return;
    event.preventDefault();
    this.go(win, by);
  };

  override willUpdate(changes: PropertyValues): void {
    super.willUpdate(changes);
    this.focused = this.shadowRoot?.activeElement?.closest("sf-window") ?? null;
  }

  /** When the window that the keyboard was in is gone, it goes on at its button, or in the next window. */
  override updated(changes: PropertyValues): void {
    super.updated(changes);
    const { focused } = this;
    this.focused = null;
    if (focused === null || (focused.isConnected && !focused.hidden)) return;
    const find = (selector: string) => this.renderRoot.querySelector<HTMLElement>(selector);
    const next = front(this.desktop);
    const button = focused.isConnected ? find(`.bar [data-id="${focused.dataset.id ?? ""}"]`) : null;
    const other = next === undefined ? null : find(`sf-window[data-id="${next.id}"]`);
    (button ?? other ?? find(".apps button"))?.focus();
  }

  /** Shows a window, with the keyboard in it. */
  private async enter(id: number): Promise<void> {
    await this.updateComplete;
    const found = this.renderRoot.querySelector<WindowElement>(`sf-window[data-id="${id}"]`);
    await found?.updateComplete;
    if (this.find(id)?.app.own === "terminal") found?.querySelector("sf-screen")?.focusField();
    else found?.focus();
  }

  private bringBack({ id }: Win): void {
    this.change(raised(changed(this.desktop, id, { isMinimised: false }), id));
    void this.enter(id);
  }

  private get room(): Room {
    const { clientWidth: width = 0, clientHeight: height = 0 } =
      this.renderRoot.querySelector(".surface") ?? {};
    return { width, height };
  }

  private find(id: number): Win | undefined {
    return this.desktop.windows.find((each) => each.id === id);
  }

  private onKept(kept: unknown): void {
    this.elsewhere = isSameContent(kept, stored(this.desktop)) ? null : kept;
  }

  private change(desktop: Desktop): void {
    this.elsewhere = null;
    this.desktop = desktop;
    remember(STORED, stored(desktop));
  }

  /** Opens an app; one of the desktop itself has one window, which comes to the front. */
  private open(app: App): void {
    const isSame = (other: App) =>
      other.own !== undefined && other.own === app.own && other.path === app.path;
    const found = this.desktop.windows.find((each) => isSame(each.app));
    if (found !== undefined) {
      this.bringBack(found);
      return;
    }
    const id = this.desktop.next;
    const desktop = opened(this.desktop, app, this.room);
    this.change(app.own === undefined ? desktop : withPage(desktop, id, this.own.page(app)));
    void this.enter(id);
    if (app.own === undefined) void this.ask(id, app.sentence);
  }

  openNamed(name: string): void {
    const app = OWN_APPS.find((each) => each.name === name);
    this.open(app ?? { name: nameOf(name), sentence: "", own: "file", path: name });
  }

  /** Windows show the files as they are; that of a file closes with it, and follows when it is renamed. */
  onFiles(before: System, after: System): void {
    let { desktop } = this;
    for (const { id, app, pages } of desktop.windows) {
      const page = current(pages);
      if (app.own === "files" && page !== undefined) {
        const next = fileTree(after, page);
        if (next !== page) desktop = withPage(desktop, id, next);
      }
      if (app.own !== "file" || app.path === undefined) continue;
      const path = pathAfter(before, after, app.path);
      if (path === undefined) desktop = closed(desktop, id);
      else if (path !== app.path)
        desktop = changed(desktop, id, { app: { ...app, name: nameOf(path), path } });
    }
    if (desktop !== this.desktop) this.change(desktop);
  }

  /** Shows another screen in a window. What cannot be done to files is said, and leaves all as it was. */
  private take(id: number, next: Component, sentence = ""): boolean {
    const win = this.find(id);
    const page = win === undefined ? undefined : current(win.pages);
    const show = (shown: Component) => this.change(withPage(this.desktop, id, shown));
    try {
      if (win === undefined || page === undefined) show(next);
      else this.own.take(win.app, page, next, { sentence, show });
      return true;
    } catch (error) {
      sayError(error);
      return false;
    }
  }

  /** Shows what a sentence came to, and tells it, so that one that was misunderstood is noticed. */
  private takeSaid(id: number, next: Component, sentence: string): void {
    const [before, { files }] = [this.pageOf(id), this.own.system];
    if (!this.take(id, next, sentence)) return;
    const [win, page] = [this.find(id), this.pageOf(id)];
    // That files are gone was told.
    if (win === undefined || page === null || this.own.system.files.length < files.length) return;
    if (before === null) {
      announce(`${win.app.name} is ready.`);
      return;
    }
    const undo = () => {
      const now = this.find(id);
      const at = now?.pages.all.lastIndexOf(page) ?? -1;
      if (now !== undefined && at > 0) this.go(now, at - 1 - now.pages.at);
    };
    say(`${win.app.name}: ${changesOf(before, page) || "changed"}.`, { label: "Undo", run: undo });
  }

  private pageOf(id: number): Component | null {
    const win = this.find(id);
    return win === undefined ? null : (current(win.pages) ?? null);
  }

  private go(win: Win, by: number): void {
    if (win.app.own === "file") {
      tellMove(by, this.own.move(win.app.path ?? "", by));
      return;
    }
    const desktop = moved(this.desktop, win.id, by);
    const other = desktop.windows.find(({ id }) => id === win.id);
    const [page, next] = [current(win.pages), other === undefined ? undefined : current(other.pages)];
    if (page === next) say(`There is nothing to ${by < 0 ? "undo" : "redo"}.`);
    if (page === undefined || next === undefined || page === next) return;
    try {
      this.own.take(win.app, page, next, { show: () => this.change(desktop) });
    } catch (error) {
      sayError(error);
    }
  }

  private async ask(id: number, sentence: string): Promise<void> {
    const win = this.find(id);
    if (win === undefined || win.isWriting || sentence.trim() === "") return;
    if (this.own.isWriting(win.app)) return;
    if (win.app.own === "file") {
      await this.own.write(win.app.path ?? "", sentence);
      return;
    }
    const by = undoWords(sentence);
    if (by !== 0) {
      this.go(win, by);
      return;
    }
    const stop = new AbortController();
    this.stopping.set(id, stop);
    const page = current(win.pages) ?? null;
    this.desktop = changed(this.desktop, id, { isWriting: true, error: "" });
    try {
      await this.own.models.load();
      const { author, steps } = this.own;
      if (author === undefined) throw new NotUnderstood("No model on this server writes apps.");
      const made = await write(api, author.id, sentence, {
        page,
        steps,
        seed: this.asked++,
        signal: stop.signal,
        onDraft: (draft) => (this.desktop = changed(this.desktop, id, { draft })),
      });
      if (page !== null && toText(page) === toText(made.page)) say(UNCHANGED);
      else this.takeSaid(id, onto(this.pageOf(id), page, made), sentence);
    } catch (error) {
      if (error instanceof PageError) say(error.message);
      else if (error instanceof NotUnderstood) {
        if (page === null) this.desktop = changed(this.desktop, id, { error: error.message });
        else say(error.message);
      } else if (!stop.signal.aborted) {
        sayError(error);
        this.desktop = changed(this.desktop, id, { error: page === null ? "Nothing was written." : "" });
      }
    } finally {
      this.desktop = changed(this.desktop, id, { isWriting: false, draft: null });
    }
  }

  private onEffect(win: Win, page: Component, event: CustomEvent<Effect>): void {
    const { detail: effect } = event;
    if (effect.say !== undefined) say(effect.say);
    if (effect.ask !== undefined) void this.ask(win.id, effect.ask);
    if (effect.program === undefined || effect.program === "") return;
    try {
      if (!this.take(win.id, execute(page, effect.program))) event.preventDefault();
    } catch (error) {
      event.preventDefault();
      sayError(error instanceof PageError ? MISFIT : error);
    }
  }

  private onWindow(win: Win, what: "close" | "minimise" | "front"): void {
    if (what === "close") {
      this.stopping.get(win.id)?.abort();
      this.change(closed(this.desktop, win.id));
      const again = { ...win, draft: null, isWriting: false };
      const run = () => {
        this.change({ ...this.desktop, windows: [...this.desktop.windows, again] });
        void this.enter(win.id);
      };
      // One of the desktop itself opens as it was.
      if (win.app.own === undefined) say(`Closed ${win.app.name}.`, { label: "Undo", run });
    } else if (what === "minimise") this.change(changed(this.desktop, win.id, { isMinimised: true }));
    else this.change(raised(this.desktop, win.id));
  }

  override render() {
    const { canMake } = this.own;
    const icon = (app: App, isAble: boolean) =>
      html`<button
        class=${app.own === undefined ? "" : "own"}
        ?disabled=${!isAble}
        @click=${() => this.open(app)}
      >
        <b aria-hidden="true">${app.own === undefined ? app.name[0] : ICONS[app.own]}</b>${app.name}
      </button>`;
    return html`<div class="page">
      <h1>Desktop</h1>
      <p class="muted intro">
        Files, Terminal and Settings are built in. A model writes every other app when you open it, and
        changes it when you say how.
      </p>
      ${
        canMake
          ? nothing
          : html`<p class="muted">
              No model on this server writes apps; start it with one that does: <code>sfumato serve ui</code>
            </p>`
      }
      ${this.own.models.failure()}
      <div class="apps" role="group" aria-label="Apps">
        ${OWN_APPS.map((app) => icon(app, true))} ${APPS.map((app) => icon(app, canMake))}
      </div>
      <form @submit=${(event: SubmitEvent) => this.onSentence(event, (said) => this.make(said))}>
        <input
          name="said"
          aria-label="Describe an app"
          placeholder="Describe an app: a to-do list about the garden with six items"
          autocomplete="off"
          @input=${(event: Event) =>
            (this.isDescribed = (event.target as HTMLInputElement).value.trim() !== "")}
        />
        <button class="primary" ?disabled=${!canMake || !this.isDescribed}>Make it</button>
      </form>
      ${
        this.elsewhere === null
          ? nothing
          : otherTab("Another tab changed the windows; what is changed here next replaces that.", [
              { label: "Show the other ones", run: () => this.change(restored(this.elsewhere)) },
              { label: "Keep these", run: () => this.change(this.desktop) },
            ])
      }
      <div class="surface">
        ${
          this.desktop.windows.length === 0
            ? html`<p class="note muted">No window is open. Choose an app above, or describe one.</p>`
            : nothing
        }
        ${repeat(
          [...this.desktop.windows].sort((a, b) => a.id - b.id),
          ({ id }) => id,
          (win) => this.window(win),
        )}
      </div>
      <div class="bar" role="group" aria-label="Windows">
        ${[...this.desktop.windows].sort((a, b) => a.id - b.id).map((win) => this.barButton(win))}
      </div>
    </div>`;
  }

  private make(sentence: string): void {
    const words = shortened(sentence.replace(/^an? /i, ""));
    this.isDescribed = false;
    this.open({ name: words.charAt(0).toUpperCase() + words.slice(1), sentence });
  }

  /** Calls with what a form says, and empties it; while its window is being written, the sentence stays there. */
  private onSentence(event: SubmitEvent, use: (said: string) => void, isWriting = false): void {
    event.preventDefault();
    if (isWriting) return;
    const form = event.target as HTMLFormElement;
    const said = new FormData(form).get("said");
    form.reset();
    if (typeof said === "string" && said.trim() !== "") use(said.trim());
  }

  private window(win: Win) {
    const page = win.draft ?? current(win.pages) ?? null;
    const order = this.desktop.windows.indexOf(win);
    return html`<sf-window
      data-id=${win.id}
      name=${win.app.name}
      style=${styleMap({ zIndex: order + 1 })}
      ?hidden=${win.isMinimised}
      ?front=${win === front(this.desktop)}
      .place=${win.place}
      @sf-place=${({ detail }: CustomEvent<Place>) => this.change(changed(this.desktop, win.id, { place: detail }))}
      @sf-window=${({ detail }: CustomEvent<"close" | "minimise" | "front">) => this.onWindow(win, detail)}
    >
      ${this.command(win)} ${page === null ? this.unwritten(win) : this.screen(win, page)}
    </sf-window>`;
  }

  /** Shows a window, or hides the one in front. */
  private barButton(win: Win) {
    const isFront = win === front(this.desktop);
    return html`<button
      data-id=${win.id}
      aria-label=${`${isFront ? "Hide" : "Show"} ${win.app.name}`}
      class=${isFront ? "front" : win.isMinimised ? "hidden" : ""}
      @click=${() => (isFront ? this.onWindow(win, "minimise") : this.bringBack(win))}
    >
      ${win.app.name}
    </button>`;
  }

  /** Where a sentence says what to change in a window. */
  private command(win: Win) {
    const isFile = win.app.own === "file";
    const isWriting = win.isWriting || this.own.isWriting(win.app);
    if (!isFile && !(win.app.own === "terminal" ? isWriting : this.own.canMake)) return nothing;
    const stop = () => {
      this.stopping.get(win.id)?.abort();
      this.own.stop(win.app);
    };
    return html`<form
      @submit=${(event: SubmitEvent) => this.onSentence(event, (said) => void this.ask(win.id, said), isWriting)}
    >
      ${
        win.app.own === "terminal"
          ? nothing
          : html`<input
              name="said"
              aria-label=${`Say what to ${isFile ? "write" : "change"} in ${win.app.name}`}
              placeholder=${isFile ? "Say what to write …" : "Say what to change …"}
              autocomplete="off"
            />`
      }
      ${
        isWriting
          ? html`<button type="button" @click=${stop}>Stop</button>`
          : html`<button
              type="button"
              aria-label=${`Undo in ${win.app.name}`}
              ?disabled=${isFile ? !this.own.canUndo(win.app.path ?? "") : win.pages.at < 1}
              @click=${() => this.go(win, -1)}
            >
              Undo
            </button>`
      }
    </form>`;
  }

  private unwritten(win: Win) {
    return html`<p class="note muted">
      ${
        win.isWriting
          ? "Writing …"
          : html`${win.error || "Nothing was written."}
              <button @click=${() => this.ask(win.id, win.app.sentence)}>Try again</button>`
      }
    </p>`;
  }

  private screen(win: Win, page: Component) {
    return html`<sf-screen
      theme=${win.app.own === undefined ? "light" : "studio"}
      .page=${page}
      .bound=${this.own.bound(win.app, page)}
      ?draft=${win.draft !== null}
      @sf-click=${(event: CustomEvent<Click>) => {
        if (win.draft !== null || this.own.click(win.app, page, event.detail)) event.preventDefault();
      }}
      @sf-effect=${(event: CustomEvent<Effect>) => this.onEffect(win, page, event)}
    ></sf-screen>`;
  }
}
