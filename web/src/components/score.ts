/** Races so far, a row for each model. */
import { html, LitElement } from "lit";
import { customElement, property } from "lit/decorators.js";
import { median } from "../core/intervals";
import type { Tally } from "../core/lane";
import { controls, tables } from "./base";
import { duration } from "./lane";

declare global {
  interface HTMLElementTagNameMap {
    "sf-score": ScoreElement;
  }
}

@customElement("sf-score")
export class ScoreElement extends LitElement {
  @property({ attribute: false }) tallies: Readonly<Record<string, Tally>> = {};

  static override styles = [controls, tables];

  override render() {
    return html`<div class="scroll" role="region" aria-label="Score" tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">model</th>
            <th scope="col">right</th>
            <th scope="col">first answer right</th>
            <th scope="col">first committed, median</th>
            <th scope="col">total, median</th>
            <th scope="col">races</th>
          </tr>
        </thead>
        <tbody>
          ${Object.entries(this.tallies).map(
            ([model, tally]) =>
              html`<tr>
                <th scope="row">${model}</th>
                <td>${tally.judged === 0 ? "no judge" : `${tally.right} of ${tally.judged}`}</td>
                <td>${tally.judged === 0 ? "–" : `${tally.rightAtFirst} of ${tally.judged}`}</td>
                <td>${duration(median(tally.firstMs))}</td>
                <td>${duration(median(tally.endMs))}</td>
                <td>${tally.races}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }
}
