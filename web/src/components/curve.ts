/** Score against steps, measured live. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api } from "../core/api";
import { CAPS, drawPrompts, scoreSteps, shares, type Point } from "../core/curve";
import { short } from "../core/metrics";
import type { ModelCard } from "../core/protocol";
import { announce, sayError } from "../core/say";
import { controls, tables } from "./base";
import "./chart";

declare global {
  interface HTMLElementTagNameMap {
    "sf-curve": CurveElement;
  }
}

const MAX_ITEMS = 500;

@customElement("sf-curve")
export class CurveElement extends LitElement {
  /** Models that take a cap on their steps and know the task. */
  @property({ attribute: false }) cards: readonly ModelCard[] = [];
  @state() private model = "";
  @state() private isAnswerFirst = true;
  @state() private items = 20;
  @state() private points: readonly Point[] = [];
  @state() private isAsking = false;
  private stopping = new AbortController();

  static override styles = [
    controls,
    tables,
    css`
      .row {
        align-items: end;
      }
      input[type="number"] {
        width: 6rem;
      }
      progress {
        width: 100%;
        accent-color: var(--accent);
      }
      .result {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr));
        gap: 1rem;
        margin-top: 0.75rem;
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stopping.abort();
  }

  private async ask(): Promise<void> {
    const model = this.model || this.cards[0]?.id;
    if (model === undefined) return;
    this.stopping = new AbortController();
    this.isAsking = true;
    const prompts = drawPrompts(this.items, this.isAnswerFirst);
    try {
      for await (const points of scoreSteps(api, model, prompts, this.stopping.signal)) this.points = points;
      announce(`Score against steps is complete for ${model}.`);
    } catch (error) {
      sayError(error);
    } finally {
      this.isAsking = false;
    }
  }

  override render() {
    const asked = this.points.reduce((sum, point) => sum + point.asked, 0);
    return html`<form
        class="row"
        @submit=${(event: Event) => {
          event.preventDefault();
          this.points = [];
          void this.ask();
        }}
      >
        <label
          >Model
          <select
            name="model"
            ?disabled=${this.isAsking}
            @change=${(event: Event) => (this.model = (event.target as HTMLSelectElement).value)}
          >
            ${this.cards.map(({ id }) => html`<option>${id}</option>`)}
          </select>
        </label>
        <label
          >Task
          <select
            name="task"
            ?disabled=${this.isAsking}
            @change=${(event: Event) => (this.isAnswerFirst = (event.target as HTMLSelectElement).value === "first")}
          >
            <option value="first">arithmetic, answer first</option>
            <option value="last">arithmetic, answer last</option>
          </select>
        </label>
        <label
          >Expressions
          <input
            name="items"
            type="number"
            min="1"
            max=${MAX_ITEMS}
            .value=${String(this.items)}
            ?disabled=${this.isAsking}
            @change=${(event: Event) => {
              const given = Math.round((event.target as HTMLInputElement).valueAsNumber);
              this.items = Math.max(1, Math.min(MAX_ITEMS, given || 1));
              this.requestUpdate();
            }}
          />
        </label>
        <button class="primary" ?disabled=${this.isAsking}>Ask</button>
        <button type="button" ?disabled=${!this.isAsking} @click=${() => this.stopping.abort()}>Stop</button>
      </form>
      ${
        this.isAsking
          ? html`<progress
              max=${this.items * CAPS.length}
              .value=${asked}
              aria-label=${`${asked} of ${this.items * CAPS.length} answers`}
            ></progress>`
          : nothing
      }
      ${this.points.length === 0 ? nothing : this.result()}`;
  }

  private result() {
    return html`<div class="result">
      <sf-chart
        name="Right answers"
        unit="% with 95% interval"
        says="right answers for each cap on the steps"
        along="steps at most"
        doubling
        .top=${100}
        .label=${String}
        .at=${this.points.map(({ cap }) => cap)}
        .lines=${[shares(this.points)]}
      ></sf-chart>
      <div class="scroll" role="region" aria-label="Score against steps" tabindex="0">
        <table>
          <thead>
            <tr>
              <th scope="col">steps at most</th>
              <th scope="col">right</th>
              <th scope="col">95% interval</th>
              <th scope="col">steps taken, mean</th>
            </tr>
          </thead>
          <tbody>
            ${this.points.map((point) => this.row(point))}
          </tbody>
        </table>
      </div>
    </div>`;
  }

  private row(point: Point) {
    const { low, high } = shares([point]);
    return html`<tr>
      <th scope="row">${point.cap}</th>
      <td>${point.right} of ${point.asked}</td>
      <td>${point.asked === 0 ? "–" : `${short(low[0] ?? null)} to ${short(high[0] ?? null)}%`}</td>
      <td>${short(point.asked === 0 ? null : point.steps / point.asked)}</td>
    </tr>`;
  }
}
