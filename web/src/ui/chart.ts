/** Diagrams of a few labelled numbers: bars, a line or a pie. */
import { html, svg, type TemplateResult } from "lit";
import { get, type Component } from "./tree";

const [WIDTH, HEIGHT, BASE] = [320, 150, 122];

/** "Mon 12" as its label and number; cells without a number count as none. */
export function valuesOf(component: Component): { label: string; value: number }[] {
  return component.cells.map((cell) => {
    const match = /^(.*?)[ :]*(-?\d+(?:\.\d+)?)\D*$/u.exec(cell);
    return { label: (match?.[1] ?? cell) || cell, value: match === null ? 0 : Number(match[2]) };
  });
}

export function chart(component: Component): TemplateResult {
  const values = valuesOf(component);
  const form = get(component, "type") ?? "bar";
  const said = values.map(({ label, value }) => `${label} ${value}`).join(", ") || "no values yet";
  const drawn = values.length === 0 ? empty() : form === "pie" ? pie(values) : bars(values, form === "line");
  return html`<svg
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    role="img"
    aria-label="${component.text}, ${form} chart: ${said}"
  >
    ${drawn}
  </svg>`;
}

function empty() {
  return svg`<path class="axis" d="M20 ${BASE}H300"></path>
    <text x=${WIDTH / 2} y=${HEIGHT / 2} text-anchor="middle">no values yet</text>`;
}

function bars(values: { label: string; value: number }[], isLine: boolean) {
  const top = Math.max(...values.map(({ value }) => value), 1);
  const step = (WIDTH - 40) / values.length;
  const at = values.map(({ label, value }, index) => ({
    label,
    value,
    x: 20 + step * (index + 0.5),
    y: BASE - (Math.max(0, value) / top) * (BASE - 24),
  }));
  const line = svg`<polyline class="line" points=${at.map(({ x, y }) => `${x},${y}`).join(" ")}></polyline>`;
  return svg`<path class="axis" d="M20 ${BASE}H300"></path>
    ${isLine ? line : null}
    ${at.map(({ label, value, x, y }) => {
      const width = Math.min(48, step * 0.6);
      const mark = isLine
        ? svg`<circle class="fill" cx=${x} cy=${y} r="4"></circle>`
        : svg`<rect class="fill" x=${x - width / 2} y=${y} width=${width} height=${BASE - y} rx="3"></rect>`;
      return svg`${mark}<text x=${x} y=${y - 7} text-anchor="middle">${value}</text>
        <text x=${x} y=${BASE + 18} text-anchor="middle">${label}</text>`;
    })}`;
}

function pie(values: { label: string; value: number }[]) {
  const total = values.reduce((sum, { value }) => sum + Math.max(0, value), 0) || 1;
  let before = 0;
  return svg`${values.map(({ label, value }, index) => {
    const share = (100 * Math.max(0, value)) / total;
    const start = before;
    before += share;
    return svg`<circle class="slice" style="--n: ${index}" cx="80" cy="75" r="31" pathLength="100"
        stroke-dasharray="${share} ${100 - share}" stroke-dashoffset=${-start}></circle>
      <rect class="key" style="--n: ${index}" x="165" y=${22 + index * 24} width="12" height="12" rx="3"></rect>
      <text x="184" y=${32 + index * 24}>${label} ${value}</text>`;
  })}`;
}
