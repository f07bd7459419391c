/** A page of components as it is seen and used; what is done to it comes out as programs, or as questions. */
import { html, LitElement, nothing, type PropertyValues } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import { repeat } from "lit/directives/repeat.js";
import { controls } from "../components/base";
import { focusPlace } from "../components/focus";
import { choose, enter, press, programOf, sortedWay, type Action, type Effect, type Values } from "./actions";
import { chart } from "./chart";
import { look } from "./look";
import { get, lineOf, MAX_TYPED, slot, visible, walk, type Component } from "./tree";

/** What a person did to a slot. */
export interface Click {
  readonly element: string;
  readonly type: Exclude<Action["type"], "ask"> | "press" | "enter" | "choose" | "open" | "input";
  readonly value: string;
}

/** What a slot shows that is not in the tree, because it is longer than a label or changes by itself. */
export interface Bound {
  readonly value?: string;
  readonly options?: readonly string[];
  /** Whether a field has many lines. */
  readonly isLong?: boolean;
  readonly isReadonly?: boolean;
  /** What was entered in a field before, the last last: its arrow keys bring it back. */
  readonly earlier?: readonly string[];
  /** Whether an entry can be opened. */
  readonly opens?: boolean;
}

declare global {
  interface HTMLElementTagNameMap {
    "sf-screen": ScreenElement;
  }
  interface HTMLElementEventMap {
    "sf-click": CustomEvent<Click>;
    "sf-effect": CustomEvent<Effect>;
  }
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
const ARIA_SORT = { up: "ascending", down: "descending" } as const;

/** Sends `sf-click` for each click; unless that is prevented, `sf-effect` with what it comes to. */
@customElement("sf-screen")
export class ScreenElement extends LitElement {
  @property({ attribute: false }) page: Component | null = null;
  @property({ attribute: false }) bound: Readonly<Record<string, Bound>> = {};
  /** Whether it is still being written; then it cannot be used. */
  @property({ type: Boolean }) draft = false;
  /** The theme where the page has none: light, as its schema says, or that of the studio. */
  @property() theme: "light" | "studio" = "light";
  /** The entry that is edited by hand. */
  @state() private editing: string | null = null;
  private changed: ReadonlySet<string> = new Set();
  /** What was deleted while the keyboard was in it, and its place among what can be. */
  private deleted: { id: string; place: number } | null = null;

  static override styles = [controls, look];

  override willUpdate(changes: PropertyValues<this>): void {
    if (!changes.has("page")) return;
    const before = changes.get("page");
    const lines = new Map(before ? [...walk(before)].map((each) => [each.id, lineOf(each)]) : []);
    const now = this.page === null || lines.size === 0 || this.draft ? [] : [...walk(this.page)];
    this.changed = new Set(now.filter((each) => lines.get(each.id) !== lineOf(each)).map(({ id }) => id));
  }

  override render() {
    const page = this.page;
    if (page === null) return nothing;
    const hasHeader = page.children.some((child) => child.kind === "header");
    return html`<section
      class="page theme-${get(page, "theme") ?? this.theme}"
      data-slot=${page.id}
      aria-label=${page.text === "" ? "Screen" : page.text}
      ?inert=${this.draft}
    >
      ${page.text === "" || hasHeader ? nothing : html`<h2>${page.text}</h2>`} ${this.inside(page)}
    </section>`;
  }

  /** What stands in a slot; each component keeps its node as long as it is there. */
  private inside(holder: Component): unknown {
    const shown = visible(holder.children);
    return repeat(
      shown,
      (child) => child.id,
      (child) => html`<div class=${this.classes(child)} data-slot=${child.id}>${this.body(child)}</div>`,
    );
  }

  private classes(of: Component): string {
    const color = get(of, "color");
    return [
      "slot",
      of.kind,
      ...of.words.filter((word) => word !== color && !/^\d/.test(word)),
      ...(color === undefined ? [] : ["coloured", `c-${color}`]),
      ...(this.changed.has(of.id) ? ["changed"] : []),
    ].join(" ");
  }

  private body(of: Component): unknown {
    switch (of.kind) {
      case "header":
        return html`<h2>${of.text}</h2>`;
      case "text":
        return this.text(of);
      case "badge":
        return html`<span>${of.text}</span>`;
      case "divider":
        return html`<hr />`;
      case "button":
        return html`<button
          ?disabled=${get(of, "disabled") !== undefined}
          @click=${() => {
            if (this.clicked(of.id, "press")) this.effect(press(this.shown(), of.id, this.values()));
          }}
        >
          ${of.text}
        </button>`;
      case "list":
        return this.list(of);
      case "checkbox":
        return this.checkbox(of);
      case "input":
        return this.input(of);
      case "select":
        return this.select(of);
      case "slider":
        return this.slider(of);
      case "progress":
        return html`<label
          ><span>${of.text} <span class="figures">${get(of, "value") ?? 0}%</span></span>
          <progress max="100" value=${get(of, "value") ?? 0}></progress
        ></label>`;
      case "table":
        return this.table(of);
      case "tabs":
        return this.tabs(of);
      case "chart":
        return html`<h3>${of.text}</h3>
          ${chart(of)}`;
      case "image":
        return this.image(of);
      case "card":
        return html`${of.text === "" ? nothing : html`<h3>${of.text}</h3>`}${this.inside(of)}`;
      default:
        return this.inside(of);
    }
  }

  private text(of: Component) {
    const { value } = this.bound[of.id] ?? {};
    if (value === undefined) return html`<p>${of.text}</p>`;
    return html`<pre role="log" aria-label=${of.text} tabindex="0">${value}</pre>`;
  }

  private list(of: Component) {
    const shown = visible(of.children);
    const entries = repeat(
      shown,
      (child) => child.id,
      (child) =>
        html`<li
          class=${this.classes(child)}
          data-slot=${child.id}
          @keydown=${(event: KeyboardEvent) => this.onEntryKey(event, child.id)}
          @focusout=${(event: FocusEvent) => this.onEntryLeft(event, child.id)}
        >
          ${
            this.editing === child.id
              ? this.edited(child.text, "Text")
              : child.kind === "checkbox"
                ? this.checkbox(child)
                : this.item(child)
          }
          ${this.tools(child, child.text)}
        </li>`,
    );
    return html`${of.text === "" ? nothing : html`<h3>${of.text}</h3>`}
    ${
      get(of, "numbered") === undefined
        ? html`<ul>
            ${entries}
          </ul>`
        : html`<ol>
            ${entries}
          </ol>`
    }
    ${this.hiddenNote(of)}`;
  }

  private item({ id, text }: Component) {
    if (this.bound[id]?.opens !== true) return html`<span class="says">${text}</span>`;
    return html`<button class="quiet says" @click=${() => this.clicked(id, "open", text)}>${text}</button>`;
  }

  /** What can be done to an entry besides using it; nothing while it is edited. */
  private tools({ id }: Component, text: string) {
    if (this.editing === id) return nothing;
    return html`<span class="tools"
      ><button
        class="quiet"
        aria-label="Edit ${text}"
        title="F2"
        data-edits=${id}
        @click=${() => (this.editing = id)}
      >
        ✎</button
      ><button
        class="quiet remove"
        aria-label="Delete ${text}"
        @click=${() => this.act({ type: "remove", slot: id })}
      >
        ×
      </button></span
    >`;
  }

  /** The field of a text that is edited by hand. */
  private edited(text: string, label: string) {
    return html`<input
      class="says"
      data-edited
      aria-label=${label}
      maxlength=${MAX_TYPED}
      autocomplete="off"
      .value=${text}
    />`;
  }

  private hiddenNote(of: Component) {
    const count = of.children.length - visible(of.children).length;
    if (count === 0) return nothing;
    return html`<p class="hidden-note">
      ${count} hidden
      <button class="quiet" @click=${() => this.act({ type: "filter", slot: of.id, by: "all" })}>
        Show all
      </button>
    </p>`;
  }

  private checkbox(of: Component) {
    return html`<label class="inline check"
      ><input
        type="checkbox"
        .checked=${live(get(of, "on") !== undefined)}
        @change=${() => this.act({ type: "toggle", slot: of.id })}
      /><span class="says">${of.text}</span></label
    >`;
  }

  private input(of: Component) {
    const { value, isLong = false, isReadonly = false, earlier } = this.bound[of.id] ?? {};
    const onInput = (event: Event) => {
      if (value !== undefined) this.clicked(of.id, "input", (event.target as Field).value);
    };
    const onKey = (event: KeyboardEvent) => {
      const field = event.target as HTMLInputElement;
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (by !== undefined && earlier !== undefined) {
        event.preventDefault();
        const at = Number(field.dataset.at ?? earlier.length) + by;
        if (at < 0 || at > earlier.length) return;
        field.dataset.at = String(at);
        field.value = earlier[at] ?? "";
      }
      if (event.key !== "Enter" || event.isComposing) return;
      delete field.dataset.at;
      if (value !== undefined) onInput(event);
      else if (this.clicked(of.id, "enter", field.value)) {
        this.effect(enter(this.shown(), of.id, this.values()));
      } else field.value = "";
    };
    return html`<label
      ><span>${of.text}${get(of, "required") === undefined ? "" : " *"}</span>
      ${
        isLong
          ? html`<textarea
              data-field=${of.id}
              rows="12"
              spellcheck="false"
              ?readonly=${isReadonly}
              .value=${live(value ?? "")}
              @input=${onInput}
            ></textarea>`
          : html`<input
              data-field=${of.id}
              type=${get(of, "type") ?? "text"}
              autocomplete="off"
              ?required=${get(of, "required") !== undefined}
              ?disabled=${get(of, "disabled") !== undefined}
              .value=${value === undefined ? nothing : live(value)}
              @change=${onInput}
              @keydown=${onKey}
            />`
      }
    </label>`;
  }

  private select(of: Component) {
    const { value, options = of.cells } = this.bound[of.id] ?? {};
    return html`<label
      ><span>${of.text}</span>
      <select
        data-field=${of.id}
        ?disabled=${get(of, "disabled") !== undefined}
        @change=${(event: Event) => {
          const option = (event.target as HTMLSelectElement).value;
          if (this.clicked(of.id, "choose", option)) this.effect(choose(this.shown(), of.id, option));
        }}
      >
        ${options.map((option) =>
          value === undefined
            ? html`<option>${option}</option>`
            : html`<option .selected=${option === value}>${option}</option>`,
        )}
      </select></label
    >`;
  }

  private slider(of: Component) {
    const value = get(of, "value") ?? "50";
    return html`<label
      ><span>${of.text} <span class="figures">${value}</span></span>
      <input
        data-field=${of.id}
        type="range"
        min="0"
        max="100"
        .value=${live(value)}
        ?disabled=${get(of, "disabled") !== undefined}
        @change=${(event: Event) =>
          this.act({ type: "set", slot: of.id, word: (event.target as HTMLInputElement).value })}
    /></label>`;
  }

  private table(of: Component) {
    const shown = visible(of.children);
    const rows = repeat(
      shown,
      (child) => child.id,
      (record) =>
        html`<tr
          class=${this.classes(record)}
          data-slot=${record.id}
          @keydown=${(event: KeyboardEvent) => this.onEntryKey(event, record.id)}
          @focusout=${(event: FocusEvent) => this.onEntryLeft(event, record.id)}
        >
          ${record.cells.map(
            (cell, index) =>
              html`<td class=${/^-?\d/.test(cell) ? "number" : ""}>
                ${this.editing === record.id ? this.edited(cell, of.cells[index] ?? "") : cell}
                ${index === record.cells.length - 1 ? this.tools(record, record.cells[0] ?? "") : nothing}
              </td>`,
          )}
        </tr>`,
    );
    const heads = of.cells.map((column) => {
      const way = this.draft ? null : sortedWay(this.shown(), of.id, column);
      return html`<th scope="col" aria-sort=${way === null ? "none" : ARIA_SORT[way]}>
        <button class="quiet" @click=${() => this.act({ type: "sort", slot: of.id, by: column })}>
          ${column}<span aria-hidden="true">${way === null ? "" : way === "up" ? " ↑" : " ↓"}</span>
        </button>
      </th>`;
    });
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${of.cells.join(", ")}>
        <table>
          <thead>
            <tr>
              ${heads}
            </tr>
          </thead>
          <tbody>
            ${rows}
          </tbody>
        </table>
      </div>
      ${this.hiddenNote(of)}`;
  }

  private tabs(of: Component) {
    const shown = visible(of.children);
    const open = shown.find((child) => get(child, "on") !== undefined) ?? shown[0];
    if (open === undefined) return nothing;
    const onKey = (event: KeyboardEvent) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next =
        by === undefined ? undefined : shown[(shown.indexOf(open) + by + shown.length) % shown.length];
      if (next === undefined) return;
      event.preventDefault();
      this.act({ type: "navigate", slot: next.id });
      void this.updateComplete.then(() =>
        this.renderRoot.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus(),
      );
    };
    return html`<div role="tablist" @keydown=${onKey}>
        ${repeat(
          shown,
          (tab) => tab.id,
          (tab) =>
            html`<button
              class="quiet"
              role="tab"
              id="tab-${tab.id}"
              data-slot=${tab.id}
              aria-selected=${String(tab === open)}
              aria-controls="panel-${of.id}"
              tabindex=${tab === open ? 0 : -1}
              @click=${() => this.act({ type: "navigate", slot: tab.id })}
            >
              ${tab.text}
            </button>`,
        )}
      </div>
      <div role="tabpanel" id="panel-${of.id}" aria-labelledby="tab-${open.id}" tabindex="0">
        ${this.inside(open)}
      </div>`;
  }

  private image(of: Component) {
    return html`<div class="picture" role="img" aria-label="Place of a picture: ${of.text}">
      <span aria-hidden="true">${of.text}</span>
    </div>`;
  }

  private onEntryKey(event: KeyboardEvent, id: string): void {
    if (event.isComposing) return;
    if (this.editing === id) {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      if (event.key === "Enter") this.save(id);
      this.editing = null;
      event.preventDefault();
      void this.updateComplete.then(() =>
        this.renderRoot.querySelector<HTMLElement>(`[data-edits="${id}"]`)?.focus(),
      );
      return;
    }
    const by = event.altKey ? ({ ArrowUp: -1, ArrowDown: 1 } as const)[event.key] : undefined;
    if (event.key === "Delete") this.act({ type: "remove", slot: id });
    else if (event.key === "F2") this.editing = id;
    else if (by !== undefined) this.act({ type: "move", slot: id, by });
    else return;
    event.preventDefault();
  }

  private onEntryLeft(event: FocusEvent, id: string): void {
    const [entry, left] = [event.currentTarget as Element, event.target as Element];
    const stays = entry.contains(event.relatedTarget as Node | null);
    if (this.editing === id && left.matches("[data-edited]") && !stays) this.save(id);
  }

  private save(id: string): void {
    const fields = this.renderRoot.querySelectorAll<HTMLInputElement>("[data-edited]");
    this.editing = null;
    this.act({ type: "rename", slot: id, says: [...fields].map(({ value }) => value) });
  }

  /** Puts the keyboard into its first field. */
  focusField(): void {
    this.renderRoot.querySelector<HTMLElement>("[data-field]")?.focus();
  }

  private shown(): Component {
    if (this.page === null) throw new Error("there is no page");
    return this.page;
  }

  private values(): Values {
    const fields = [...this.renderRoot.querySelectorAll<Field>("[data-field]")];
    return Object.fromEntries(fields.map((field) => [field.dataset.field ?? "", field.value]));
  }

  /** Whether the screen itself is to do what the click means. */
  private clicked(element: string, type: Click["type"], value = ""): boolean {
    const detail = { element, type, value };
    return this.dispatchEvent(
      new CustomEvent("sf-click", { detail, bubbles: true, composed: true, cancelable: true }),
    );
  }

  private act(action: Exclude<Action, { type: "ask" | "add" | "theme" }>): void {
    const number = "by" in action ? String(action.by) : "";
    const value = "word" in action ? action.word : "says" in action ? action.says.join(" | ") : number;
    if (!this.clicked(action.slot, action.type, value)) return;
    if (action.type === "remove") this.noteDeleted(action.slot);
    const program = programOf(this.shown(), action);
    if (program !== null) this.effect({ program });
  }

  private noteDeleted(id: string): void {
    const entry = this.shadowRoot?.activeElement?.closest(`[data-slot="${id}"]`);
    const all = [...this.renderRoot.querySelectorAll(".remove")];
    if (entry) this.deleted = { id, place: all.findIndex((each) => entry.contains(each)) };
  }

  override updated(changes: PropertyValues): void {
    const { deleted, page } = this;
    if (this.editing !== null && changes.has("editing")) {
      this.renderRoot.querySelector<HTMLInputElement>("[data-edited]")?.select();
    }
    if (deleted !== null && page !== null && slot(page, deleted.id) === undefined) {
      this.deleted = null;
      focusPlace(this.renderRoot, ".remove", deleted.place);
    }
    for (const log of this.renderRoot.querySelectorAll("pre")) log.scrollTop = log.scrollHeight;
  }

  private effect(effect: Effect): void {
    const event = new CustomEvent("sf-effect", {
      ...{ detail: effect, bubbles: true, composed: true, cancelable: true },
    });
    // What is refused stays in its field.
    for (const id of this.dispatchEvent(event) ? (effect.clears ?? []) : []) {
      const field = this.renderRoot.querySelector<Field>(`[data-field="${id}"]`);
      if (field !== null && field.type !== "range") field.value = "";
    }
    // What was clicked shows what the page says, whether or not it was changed.
    this.requestUpdate();
  }
}
