/** The form of a schema: a control for each value, blurred while uncertain, with its problems. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import { repeat } from "lit/directives/repeat.js";
import { own, pointerOf, type Field, type Path } from "../core/schema";
import type { Problem } from "../core/validate";
import { controls } from "./base";

declare global {
  interface HTMLElementTagNameMap {
    "sf-form": FormElement;
  }
  interface HTMLElementEventMap {
    "sf-value": CustomEvent<{ path: Path; value: unknown }>;
    "sf-pin": CustomEvent<Path>;
  }
}

/** Sends `sf-value` when a person edits a value, and `sf-pin` to pin or unpin it. */
@customElement("sf-form")
export class FormElement extends LitElement {
  @property({ attribute: false }) field: Field | null = null;
  @property({ attribute: false }) value: unknown = undefined;
  /** JSON pointers of pinned values. */
  @property({ attribute: false }) pinned: ReadonlySet<string> = new Set();
  @property({ attribute: false }) problems: readonly Problem[] = [];
  /** How sure the model is of values, by pointer. */
  @property({ attribute: false }) certainty: ReadonlyMap<string, number> = new Map();
  @property({ type: Boolean }) readonly = false;

  static override styles = [
    controls,
    css`
      fieldset {
        border: 1px solid var(--line);
        border-radius: 10px;
        display: grid;
        gap: 0.75rem;
        padding: 0.75rem;
        margin: 0;
        min-width: 0;
      }
      fieldset.root {
        border: 0;
        padding: 0;
      }
      legend {
        font-weight: 600;
        padding: 0 0.3rem;
      }
      .field {
        display: grid;
        gap: 0.2rem;
      }
      .line {
        display: flex;
        gap: 0.4rem;
      }
      .line > :is(input, select, textarea) {
        flex: 1;
        opacity: calc(0.35 + 0.65 * var(--certainty, 1));
        filter: blur(calc(1.2px * (1 - var(--certainty, 1))));
        transition: opacity calc(var(--motion) * 100ms);
      }
      .line > .pinned {
        border-color: var(--accent);
      }
      .name {
        font-size: 0.875rem;
      }
      .pin[aria-pressed="true"] {
        background: var(--accent);
        color: var(--on-accent);
      }
      p {
        margin: 0;
        font-size: 0.8rem;
      }
    `,
  ];

  override render() {
    return this.field === null ? nothing : this.show(this.field);
  }

  private show(field: Field): unknown {
    if (field.control !== "group" && field.control !== "list") return this.control(field);
    const pointer = pointerOf(field.path);
    return html`<fieldset class=${field.path.length === 0 ? "root" : ""}>
      ${field.path.length === 0 ? nothing : html`<legend>${field.name}</legend>`} ${this.wrong(pointer)}
      ${repeat(
        field.children,
        (child) => pointerOf(child.path),
        (child) => this.show(child),
      )}
      ${field.children.length === 0 ? html`<p class="muted">Nothing here yet.</p>` : nothing}
    </fieldset>`;
  }

  private wrong(pointer: string) {
    return this.problems
      .filter((problem) => problem.pointer === pointer)
      .map(({ message }) => html`<p class="error" id=${`problem${pointer}`}>${message}</p>`);
  }

  private control(field: Field) {
    const pointer = pointerOf(field.path);
    const id = `field${pointer}`;
    const value = field.path.reduce(own, this.value);
    const isPinned = this.pinned.has(pointer);
    const certainty = this.certainty.get(pointer);
    const text =
      value === undefined
        ? ""
        : field.control === "any" || typeof value !== "string"
          ? JSON.stringify(value)
          : value;
    const send = (next: unknown) =>
      this.dispatchEvent(
        new CustomEvent("sf-value", {
          detail: { path: field.path, value: next },
          bubbles: true,
          composed: true,
        }),
      );
    const input =
      field.control === "choice"
        ? html`<select
            id=${id}
            class=${isPinned ? "pinned" : ""}
            ?disabled=${this.readonly}
            @change=${(event: Event) => {
              send(field.choices[(event.target as HTMLSelectElement).selectedIndex - 1]);
            }}
          >
            <option .selected=${value === undefined}></option>
            ${field.choices.map(
              (choice) =>
                html`<option .selected=${JSON.stringify(choice) === JSON.stringify(value)}>
                  ${typeof choice === "string" ? choice : JSON.stringify(choice)}
                </option>`,
            )}
          </select>`
        : html`<input
            id=${id}
            class=${isPinned ? "pinned" : ""}
            inputmode=${field.control === "number" ? "decimal" : "text"}
            autocomplete="off"
            ?readonly=${this.readonly}
            .value=${live(text)}
            @change=${(event: Event) => send(read((event.target as HTMLInputElement).value, field.control))}
          />`;
    return html`<div class="field">
      <label class="name" for=${id}
        >${field.name}${field.isRequired ? "" : html` <span class="muted">optional</span>`}</label
      >
      <div class="line" style=${certainty === undefined ? "" : `--certainty: ${certainty.toFixed(2)}`}>
        ${input}
        <button
          class="pin"
          aria-pressed=${String(isPinned)}
          aria-label=${`Pin ${field.name}`}
          title=${isPinned ? "Pinned; click to unpin" : "Pin this value"}
          ?disabled=${this.readonly || value === undefined}
          @click=${() =>
            this.dispatchEvent(
              new CustomEvent("sf-pin", { detail: field.path, bubbles: true, composed: true }),
            )}
        >
          ⚲
        </button>
      </div>
      ${field.description === "" ? nothing : html`<p class="muted">${field.description}</p>`}
      ${this.wrong(pointer)}
    </div>`;
  }
}

function read(text: string, control: Field["control"]): unknown {
  if (text === "") return control === "text" ? "" : undefined;
  if (control === "text") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
