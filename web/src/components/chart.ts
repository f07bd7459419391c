/** A small chart, and the same numbers as a table. */
import { css, html, LitElement, unsafeCSS } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import uPlot from "uplot";
import style from "uplot/dist/uPlot.min.css?inline";
import { short } from "../core/metrics";
import { controls, tables } from "./base";

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** The range that each value may lie in. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
}

declare global {
  interface HTMLElementTagNameMap {
    "sf-chart": ChartElement;
  }
}

const HEIGHT = 150;
const ROWS = 12;
/** Steps between ticks, so that no two are rounded to the same number. */
const WHOLE = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
/** Colours of lines, and what tells them apart without colour. */
const COLOURS = ["--accent", "--warm", "--good", "--error"];
const DASHES = [[], [6, 4], [2, 3], [10, 4, 2, 4]];

@customElement("sf-chart")
export class ChartElement extends LitElement {
  @property() name = "";
  @property() unit = "";
  /** What it shows, in words. */
  @property() says = "";
  /** Unit of the x axis; `label` formats its values. */
  @property({ attribute: false }) at: readonly number[] = [];
  @property({ attribute: false }) lines: readonly Line[] = [];
  @property({ attribute: false }) label: (at: number) => string = (at) => short(at);
  @property() along = "seconds";
  /** Whether the x axis doubles from tick to tick. */
  @property({ type: Boolean }) doubling = false;
  @property({ attribute: false }) top: number | null = null;
  @query(".plot") private place!: HTMLElement;
  private plot: uPlot | null = null;
  private drawn = "";
  private resized: ResizeObserver | null = null;
  private readonly scheme = matchMedia("(prefers-color-scheme: dark)");

  static override styles = [
    controls,
    tables,
    unsafeCSS(style),
    css`
      :host {
        min-width: 0;
      }
      h3 {
        font-size: 0.95rem;
        margin: 0;
      }
      .plot {
        height: ${HEIGHT}px;
        margin-top: 0.4rem;
      }
      ul {
        display: flex;
        flex-wrap: wrap;
        gap: 0.1rem 0.9rem;
        list-style: none;
        margin: 0;
        padding: 0;
      }
      strong {
        color: var(--text);
      }
      svg {
        vertical-align: 0.2em;
      }
      summary {
        cursor: pointer;
        font-size: 0.8rem;
        color: var(--muted);
      }
    `,
  ];

  private readonly redraw = () => {
    this.drawn = "";
    this.requestUpdate();
  };

  override connectedCallback(): void {
    super.connectedCallback();
    this.resized = new ResizeObserver(() => this.requestUpdate());
    this.resized.observe(this);
    this.scheme.addEventListener("change", this.redraw);
    themes.add(this.redraw);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.resized?.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
    themes.delete(this.redraw);
    this.plot?.destroy();
    this.plot = null;
    this.drawn = "";
  }

  override updated(): void {
    const looks = JSON.stringify([this.lines.map(({ name }) => name), this.clientWidth]);
    if (looks !== this.drawn || this.plot === null) {
      this.plot?.destroy();
      this.plot = new uPlot(this.options(), this.data(), this.place);
      this.drawn = looks;
    } else this.plot.setData(this.data());
  }

  private data(): uPlot.AlignedData {
    const columns = this.lines.flatMap(({ values, low, high }) =>
      low === undefined || high === undefined ? [values] : [values, high, low],
    );
    return [[...this.at], ...columns.map((column) => [...column])];
  }

  private options(): uPlot.Options {
    const colours = getComputedStyle(this);
    const of = (name: string) => colours.getPropertyValue(name).trim();
    // A canvas does not support light-dark(), so an element computes the colour.
    const resolve = (name: string) => {
      this.place.style.color = of(name);
      return getComputedStyle(this.place).color;
    };
    const [muted, line] = [resolve("--muted"), resolve("--line")];
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    this.lines.forEach(({ low }, i) => {
      const stroke = resolve(COLOURS[i % COLOURS.length] ?? "--accent");
      const dash = DASHES[i % DASHES.length] ?? [];
      series.push({ stroke, dash, width: 2, points: { show: this.doubling, size: 6, fill: stroke } });
      if (low === undefined) return;
      const at = series.length;
      series.push({ width: 0, points: { show: false } }, { width: 0, points: { show: false } });
      bands.push({ series: [at, at + 1], fill: stroke.replace(/^rgb\((.*)\)$/, "rgba($1, 0.15)") });
    });
    const axis = {
      stroke: muted,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      font: "11px system-ui",
    };
    const top = this.top;
    return {
      width: Math.max(120, this.place.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      series,
      bands,
      scales: {
        // uPlot's const enum is unavailable with isolated modules.
        // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
        x: this.doubling
          ? { time: false, distr: 3, log: 2 }
          : { time: false, range: (_, low, high) => (this.at.length < 2 ? [-60, 0] : [low, high]) },
        y: { range: (_, __, high) => [0, top ?? (high > 0 ? high * 1.1 : 1)] },
      },
      axes: [
        {
          ...axis,
          size: 24,
          // Ticks too close together are null.
          values: (_, splits: (number | null)[]) => splits.map((at) => (at === null ? "" : this.label(at))),
          ...(this.doubling ? { splits: () => [...this.at] } : { incrs: WHOLE }),
        },
        { ...axis, size: 46, values: (_, splits) => splits.map(short) },
      ],
    };
  }

  override render() {
    const rows = this.at.map((at, i) => ({ at, i })).slice(-ROWS);
    return html`<h3>${this.name} <span class="muted figures">${this.unit}</span></h3>
      <ul class="figures" aria-label=${`${this.name} now`}>
        ${this.lines.map(
          ({ name, values }, i) =>
            html`<li>
              ${swatch(i)} ${name} <strong>${short(values.findLast((v) => v !== null) ?? null)}</strong>
            </li>`,
        )}
      </ul>
      <div
        class="plot"
        role="img"
        aria-label=${`${this.name}, ${this.unit}: ${this.says}. The table below has it in numbers.`}
      ></div>
      <details>
        <summary>In numbers</summary>
        <div class="scroll" role="region" aria-label=${`${this.name} in numbers`} tabindex="0">
          <table>
            <caption class="visually-hidden">
              ${this.name}, ${this.unit}: ${this.says}
            </caption>
            <thead>
              <tr>
                <th scope="col">${this.along}</th>
                ${this.lines.map(({ name }) => html`<th scope="col">${name}</th>`)}
              </tr>
            </thead>
            <tbody>
              ${rows.map(
                ({ at, i }) =>
                  html`<tr>
                    <th scope="row">${this.label(at)}</th>
                    ${this.lines.map((each) => html`<td>${cell(each, i)}</td>`)}
                  </tr>`,
              )}
            </tbody>
          </table>
        </div>
      </details>`;
  }
}

function swatch(i: number) {
  const dash = (DASHES[i % DASHES.length] ?? []).join(" ");
  return html`<svg width="22" height="4" aria-hidden="true">
    <line
      x2="22"
      y1="2"
      y2="2"
      stroke-width="3"
      stroke-dasharray=${dash}
      style=${`stroke: var(${COLOURS[i % COLOURS.length] ?? "--accent"})`}
    />
  </svg>`;
}

function cell({ values, low, high }: Line, i: number): string {
  const range =
    low === undefined || high === undefined ? "" : ` (${short(low[i] ?? null)} to ${short(high[i] ?? null)})`;
  return short(values[i] ?? null) + range;
}

/** Charts are drawn in a theme's colours, so they redraw when it changes. */
const themes = new Set<() => void>();
new MutationObserver(() => themes.forEach((redraw) => redraw())).observe(document.documentElement, {
  attributes: true,
  attributeFilter: ["data-theme"],
});
