import { html, LitElement } from "lit";
import { customElement, property } from "lit/decorators.js";
import { controls } from "../components/base";

@customElement("sf-editor-page")
export class EditorPage extends LitElement {
  /** What stands behind the page's path. */
  @property() place = "";

  static override styles = [controls];

  override render() {
    return html`<h1>Editor</h1>`;
  }
}
