/** Push to talk: what is said while the button is held becomes text, on the server. */
import { css, html, LitElement } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api } from "../core/api";
import { sayError } from "../core/say";
import { controls } from "./base";

declare global {
  interface HTMLElementTagNameMap {
    "sf-talk": TalkElement;
  }
  interface HTMLElementEventMap {
    "sf-heard": CustomEvent<string>;
  }
}

/** Sends `sf-heard` with the text. */
@customElement("sf-talk")
export class TalkElement extends LitElement {
  /** Sentences like those that may be said, and names that may occur. */
  @property() hint = "";
  @state() private mode: "idle" | "recording" | "reading" = "idle";
  private recorder: MediaRecorder | null = null;
  private presses = 0;

  static override styles = [
    controls,
    css`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.end();
  }

  private async begin(): Promise<void> {
    if (this.mode !== "idle") return;
    this.mode = "recording";
    const press = ++this.presses;
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      // The button may have been released while the browser asked for permission.
      if (press !== this.presses || (this.mode as string) !== "recording" || !this.isConnected) {
        for (const track of stream.getTracks()) track.stop();
        return;
      }
      const parts: Blob[] = [];
      this.recorder = new MediaRecorder(stream);
      this.recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
      this.recorder.addEventListener("stop", () => {
        for (const track of stream.getTracks()) track.stop();
        void this.read(new Blob(parts, { type: this.recorder?.mimeType ?? "" }));
      });
      this.recorder.start();
    } catch {
      this.mode = "idle";
      sayError(new Error("No microphone: connect one and allow it in the browser, or type"));
    }
  }

  private end(): void {
    if (this.mode !== "recording") return;
    if (this.recorder?.state === "recording") this.recorder.stop();
    else this.mode = "idle";
  }

  /** Space is held like the pointer; Enter begins, and ends. */
  private onKey(event: KeyboardEvent): void {
    if (event.repeat || (event.key !== " " && event.key !== "Enter")) return;
    if (event.key === "Enter") event.preventDefault();
    if (event.key === "Enter" && this.mode === "recording") this.end();
    else void this.begin();
  }

  private async read(recording: Blob): Promise<void> {
    this.mode = "reading";
    const form = new FormData();
    form.append("file", recording, "command.webm");
    form.append("model", "whisper-1");
    // The model that writes screens reads English.
    form.append("language", "en");
    if (this.hint !== "") form.append("prompt", this.hint);
    try {
      const { text } = await api.json<{ text: string }>("POST", "/v1/audio/transcriptions", form);
      this.dispatchEvent(new CustomEvent("sf-heard", { detail: text.trim(), bubbles: true, composed: true }));
    } catch (error) {
      sayError(error);
    } finally {
      this.mode = "idle";
    }
  }

  override render() {
    const label = { idle: "Hold to talk", recording: "Listening …", reading: "Reading …" }[this.mode];
    return html`<button
      type="button"
      class=${this.mode}
      ?disabled=${this.mode === "reading"}
      @pointerdown=${() => this.begin()}
      @pointerup=${() => this.end()}
      @pointerleave=${() => this.end()}
      @blur=${() => this.end()}
      @keydown=${(event: KeyboardEvent) => this.onKey(event)}
      @keyup=${(event: KeyboardEvent) => event.key === " " && this.end()}
    >
      ${label}
    </button>`;
  }
}
