/** What the server does now, and what steps buy. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { controls, tables } from "../components/base";
import type { Line } from "../components/chart";
import "../components/chart";
import "../components/curve";
import { Models } from "../components/models";
import { api } from "../core/api";
import { FIGURES, lineOf, parseMetrics, readingOf, short, type Figure, type Reading } from "../core/metrics";

const EVERY_MS = 1000;
const MAX_READINGS = 121;
const TOTALS = [
  "answers",
  "canvases",
  "completion_tokens",
  "denoising_steps",
  "positions_computed",
  "revisions",
];

@customElement("sf-cost-page")
export class CostPage extends LitElement {
  /** What stands behind the page's path. */
  @property() place = "";
  private readonly known = new Models(
    this,
    ({ capabilities, sfumato: { kinds } }) =>
      capabilities.includes("canvas") && kinds.some(({ name }) => name === "arithmetic"),
  );
  @state() private readings: readonly Reading[] = [];
  @state() private trouble = "";
  @state() private isPaused = false;
  private timer = 0;
  private isAsking = false;

  static override styles = [
    controls,
    tables,
    css`
      .charts {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr));
        gap: 0.75rem;
        margin-block: 0.75rem 1.25rem;
      }
      h2 {
        margin-top: 1.5rem;
      }
    `,
  ];

  private readonly onVisibility = () => (document.hidden ? clearInterval(this.timer) : this.start());

  override connectedCallback(): void {
    super.connectedCallback();
    document.addEventListener("visibilitychange", this.onVisibility);
    this.onVisibility();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener("visibilitychange", this.onVisibility);
    clearInterval(this.timer);
  }

  private start(): void {
    clearInterval(this.timer);
    if (this.isPaused) return;
    this.timer = window.setInterval(() => void this.read(), EVERY_MS);
    void this.read();
  }

  /** One reading; while one is under way, no other. */
  private async read(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      const text = await (await api.request("GET", "/metrics")).text();
      const reading = readingOf(parseMetrics(text), performance.now());
      this.keep(reading);
      this.trouble = "";
      if (this.known.cards === null) void this.known.load().catch(() => undefined);
    } catch (error) {
      // One is enough for a line to break.
      if (this.readings.at(-1)?.isGap === undefined && this.readings.length > 0)
        this.keep({ atMs: performance.now(), models: new Map(), isGap: true });
      const said = error instanceof Error ? error.message : String(error);
      this.trouble = `No figures: ${said} This page keeps trying.`;
    } finally {
      this.isAsking = false;
    }
  }

  private keep(reading: Reading): void {
    this.readings = [...this.readings, reading].slice(-MAX_READINGS);
  }

  private models(): string[] {
    return [...new Set(this.readings.flatMap(({ models }) => [...models.keys()]))].sort();
  }

  override render() {
    const { readings } = this;
    const models = this.models();
    return html`<h1>Cost</h1>
      <div class="row">
        <p class="muted" style="margin: 0; flex: 1 1 20rem">
          What this server is doing, read from <a href="/metrics" target="_blank">/metrics</a> every second
          while this page is visible. Answers count once they are complete.
        </p>
        <button
          aria-pressed=${this.isPaused}
          @click=${() => {
            this.isPaused = !this.isPaused;
            if (this.isPaused) clearInterval(this.timer);
            else this.start();
          }}
        >
          ${this.isPaused ? "Resume" : "Pause"}
        </button>
      </div>
      <p class="error" role="status" ?hidden=${this.trouble === ""}>${this.trouble}</p>
      ${readings.length === 0 ? nothing : this.figures(models)}`;
  }

  /** All that comes with the first reading, so that nothing moves when it does. */
  private figures(models: readonly string[]) {
    const notice = this.known.notice("No model on this server knows the task and takes a cap on its steps.");
    return html`${
        models.length === 0
          ? html`<p class="muted">No model is loaded yet; the first request loads one.</p>`
          : html`<h2 class="visually-hidden">Now</h2>
              <div class="charts">${FIGURES.map((figure) => this.chart(figure, models))}</div>
              ${this.totals(models)}`
      }
      <h2>Score against steps</h2>
      <p class="muted">
        Random expressions, each asked under every cap on the steps; this page works out the right answers
        itself.
      </p>
      ${notice === nothing ? html`<sf-curve class="card" .cards=${this.known.cards ?? []}></sf-curve>` : notice}`;
  }

  private chart(figure: Figure, models: readonly string[]) {
    const { readings } = this;
    const latest = readings.at(-1)?.atMs ?? 0;
    const lines = models.map((name): Line => ({ name, values: lineOf(figure, name, readings) }));
    return html`<sf-chart
      class="card"
      name=${figure.name}
      unit=${figure.unit}
      says=${figure.says}
      along="seconds ago"
      .label=${(at: number) => String(Math.round(-at))}
      .at=${readings.slice(1).map(({ atMs }) => (atMs - latest) / 1000)}
      .lines=${lines}
    ></sf-chart>`;
  }

  private totals(models: readonly string[]) {
    const now = this.readings.findLast(({ isGap }) => isGap === undefined);
    return html`<h2 id="totals">Since the server started</h2>
      <div class="scroll" role="region" aria-labelledby="totals" tabindex="0">
        <table>
          <thead>
            <tr>
              <th scope="col">model</th>
              ${TOTALS.map((name) => html`<th scope="col">${name.replaceAll("_", " ")}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${models.map(
              (model) =>
                html`<tr>
                  <th scope="row">${model}</th>
                  ${TOTALS.map((name) => html`<td>${short(now?.models.get(model)?.get(name) ?? 0)}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`;
  }
}
