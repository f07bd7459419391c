import { html, LitElement } from "lit";
import { customElement, property } from "lit/decorators.js";
import { controls } from "../components/base";

@customElement("sf-todo-page")
export class TodoPage extends LitElement {
  /** What stands behind the page's path. */
  @property() place = "";

  static override styles = [controls];

  override render() {
    return html`<h1>Todo</h1>`;
  }
}
