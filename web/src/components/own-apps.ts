/** The apps of the desktop itself: what they show, and what a click on them does. */
import type { ReactiveControllerHost } from "lit";
import { api } from "../core/api";
import { textOf, type CanvasView } from "../core/canvas";
import { OWN_APPS, type App } from "../core/desktop";
import { revisionPrompt } from "../core/encyclopedia";
import { adopt, fileTree, pathsOf, unnamed } from "../core/file-tree";
import { LOOKS, looks, onRemembered, remember, remembered, setLooks, type Looks } from "../core/preferences";
import { knowing, prose, writers } from "../core/prose";
import type { Message, ModelCard } from "../core/protocol";
import { announce, say, sayError } from "../core/say";
import {
  FileError,
  findFile,
  pathAfter,
  readSystem,
  withFile,
  withoutFile,
  withRenamed,
  type System,
} from "../core/system";
import { current, go, held, noSteps, push, type Steps } from "../core/steps";
import { readTurns, run, transcript, withTurn, type Turn } from "../core/terminal";
import { isAuthor } from "../ui/author";
import type { Bound, Click } from "../ui/screen";
import { get, parse, slot, type Component } from "../ui/tree";
import { Models } from "./models";

const AUTOMATIC = "automatic";
const MAX_CLICKS = 8;
/** Turns that a language model is told of. */
const MAX_TOLD = 3;

const TERMINAL = parse("a page dark\n b text: Terminal\n c input: Command");
const FILE = parse("a page\n b input: Name\n c input: Text\n d button: Delete");
const SETTINGS = parse(
  [
    "a page",
    ` b select: Theme | ${LOOKS.theme.join(" | ")}`,
    ` c select: Text size | ${LOOKS.text.join(" | ")}`,
    " d checkbox: Reduce motion",
    " e divider",
    " f select: Screens by | automatic",
    " g slider 16: Steps for a screen",
    " h select: Answers by | automatic",
  ].join("\n"),
);

interface Choices {
  /** Models by name; empty for whichever can. */
  readonly author: string;
  readonly answerer: string;
  readonly steps: number | null;
}

function readChoices(kept: unknown): Choices {
  return { author: "", answerer: "", steps: null, ...(kept as Partial<Choices> | null) };
}

export interface Host extends ReactiveControllerHost {
  /** Opens a file, or an app by its name. */
  openNamed(name: string): void;
  /** Has what windows show follow the files. */
  onFiles(before: System, after: System): void;
}

export class OwnApps {
  readonly models: Models;
  system: System = readSystem(remembered<unknown>("desktop.files", null));
  /** What was clicked last, in all windows. */
  clicks: readonly Click[] = [];
  private turns: readonly Turn[] = readTurns(remembered<unknown>("desktop.terminal", []));
  private choices = readChoices(remembered<unknown>("desktop.choices", null));
  /** What stood in the files that were changed, by path. */
  private texts: ReadonlyMap<string, Steps<string>> = new Map();
  /** The path of the file that was changed last, if by hand: what is typed in one go is one step. */
  private typed = "";
  /** Texts that are being written, by the path of their file; that of the terminal is "". */
  private drafts: ReadonlyMap<string, string> = new Map();
  /** What stops each text that is being written, by path. */
  private stopping = new Map<string, AbortController>();
  /** Settles when the last line that was entered in the terminal has its answer; the next one waits for it. */
  private lastLine: Promise<void> = Promise.resolve();
  private asked = 0;

  constructor(private readonly host: Host) {
    this.models = new Models(host);
    onRemembered("desktop.files", (kept) => this.show(readSystem(kept)));
    onRemembered("desktop.choices", (kept) => (this.choices = readChoices(kept)));
    onRemembered("desktop.terminal", (kept) => {
      this.turns = readTurns(kept);
      host.requestUpdate();
    });
  }

  private get cards(): readonly ModelCard[] | null {
    return this.models.cards;
  }

  /** The model that writes screens. */
  get author(): ModelCard | undefined {
    const able = (this.cards ?? []).filter(isAuthor);
    return able.find(({ id }) => id === this.choices.author) ?? able[0];
  }

  /** Whether a model writes screens, as far as is known. */
  get canMake(): boolean {
    return this.cards === null || this.author !== undefined;
  }

  get steps(): number | undefined {
    return this.choices.steps ?? undefined;
  }

  isWriting({ own, path = "" }: App): boolean {
    return (own === "terminal" || own === "file") && this.drafts.has(path);
  }

  stop(app: App): void {
    if (this.isWriting(app)) this.stopping.get(app.path ?? "")?.abort();
  }

  /** The screen of an app when it opens. */
  page({ own }: App): Component {
    if (own === "files") return fileTree(this.system);
    if (own !== "settings") return own === "terminal" ? TERMINAL : FILE;
    const steps = this.choices.steps ?? this.author?.sfumato.steps ?? 16;
    const words = { d: looks().motion === "reduced" ? ["on"] : [], g: [String(Math.min(100, steps))] };
    const children = SETTINGS.children.map((child) => ({
      ...child,
      words: Object.hasOwn(words, child.id) ? words[child.id as keyof typeof words] : child.words,
    }));
    return { ...SETTINGS, children };
  }

  /** What its slots show that is not in their tree. */
  bound({ own, path = "" }: App, page: Component): Readonly<Record<string, Bound>> {
    const draft = this.drafts.get(path);
    if (own === "files") {
      return Object.fromEntries([...pathsOf(page).keys()].map((id) => [id, { opens: true }]));
    }
    if (own === "terminal") {
      const log = transcript(this.turns) + (draft === undefined ? "" : `\n${draft}`);
      return { b: { value: log }, c: { earlier: this.turns.map(({ line }) => line) } };
    }
    if (own === "file") {
      const text = draft ?? findFile(this.system, path)?.text ?? "";
      return { b: { value: path }, c: { value: text, isLong: true, isReadonly: draft !== undefined } };
    }
    if (own !== "settings") return {};
    const { theme, text } = looks();
    const models = (cards: readonly ModelCard[], now: string) => ({
      options: [AUTOMATIC, ...cards.map(({ id }) => id)],
      value: now === "" ? AUTOMATIC : now,
    });
    return {
      b: { value: theme },
      c: { value: text },
      f: models((this.cards ?? []).filter(isAuthor), this.choices.author),
      h: models(this.answerers(), this.choices.answerer),
    };
  }

  /** Does what a click means; false leaves it to the screen. */
  click({ own, path = "" }: App, page: Component, click: Click): boolean {
    this.clicks = [...this.clicks, click].slice(-MAX_CLICKS);
    const { element, type, value } = click;
    if (own === "files" && type === "open") {
      this.host.openNamed(pathsOf(page).get(element) ?? value);
    } else if (own === "terminal" && type === "enter") {
      this.lastLine = this.lastLine.then(() => this.enter(value)).catch(sayError);
    } else if (own === "settings" && type === "choose") {
      if (element === "b") setLooks({ theme: value as Looks["theme"] });
      else if (element === "c") setLooks({ text: value as Looks["text"] });
      else this.choose({ [element === "f" ? "author" : "answerer"]: value === AUTOMATIC ? "" : value });
    } else if (own === "file" && type === "input" && element === "b") {
      this.attempt(() => this.change(withRenamed(this.system, path, value)));
    } else if (own === "file" && type === "input") {
      this.attempt(() => this.change(withFile(this.system, path, value), path));
    } else if (own === "file" && type === "press") {
      const before = this.system;
      this.change(withoutFile(before, path));
      this.sayDeleted(before, this.system);
    } else return false;
    this.host.requestUpdate();
    return true;
  }

  /**
   * What a change of an app's screen makes of the files and settings; `show` gets the screen with them. A model that
   * was asked by a sentence touches no file that the sentence does not mean. Throws FileError.
   */
  take(
    { own }: App,
    before: Component,
    after: Component,
    { sentence = "", show }: { sentence?: string; show: (page: Component) => void },
  ): void {
    if (own === "files") {
      const [was, system] = [this.system, adopt(this.system, before, after)];
      const [wrong] = unnamed(sentence, was, system);
      if (wrong !== undefined) {
        throw new FileError(
          `The model would have changed “${wrong}”, which you did not name; nothing was done`,
        );
      }
      show(fileTree(system, after));
      this.change(system);
      this.sayDeleted(was, system);
      return;
    }
    show(after);
    if (own !== "settings") return;
    const theme = get(after, "theme");
    if (theme !== get(before, "theme")) setLooks({ theme: theme === "dark" ? "dark" : "light" });
    const [motion, steps] = [slot(after, "d"), slot(after, "g")];
    if (motion !== undefined) {
      setLooks({ motion: get(motion, "on") === undefined ? "system" : "reduced" });
    }
    const number = steps === undefined ? undefined : get(steps, "value");
    const was = slot(before, "g");
    if (number !== undefined && (was === undefined || get(was, "value") !== number)) {
      this.choose({ steps: Math.max(1, Number(number)) });
    }
  }

  /** Writes a file, or writes it anew, as a sentence says. */
  async write(path: string, wish: string): Promise<void> {
    const text = findFile(this.system, path)?.text ?? "";
    try {
      await this.models.load();
      const card = this.answererOf(wish);
      if (card === undefined) {
        say(this.refusal());
        return;
      }
      const isKnown = card.sfumato.kinds.length > 0;
      const prompt = isKnown || text.trim() === "" ? wish : revisionPrompt(text, wish);
      const made = await this.answer(path, card, prompt, []);
      const next = isKnown && text.trim() !== "" ? `${text.trimEnd()}\n${made}\n` : `${made}\n`;
      this.change(withFile(this.system, path, next));
      const run = () => this.attempt(() => this.change(withFile(this.system, path, text)));
      say(`Written by ${card.id}. Nobody checked it.`, { label: "Undo", run });
    } catch (error) {
      sayError(error);
    }
  }

  /** Offers to bring back what is gone. */
  private sayDeleted(before: System, after: System): void {
    if (after.files.length >= before.files.length) return;
    const gone = before.files.filter(({ path }) => findFile(after, path) === undefined);
    const bringBack = () => {
      this.change(gone.reduce((system, { path, text }) => withFile(system, path, text), this.system));
    };
    say(`Deleted: ${gone.map(({ path }) => path).join(", ")}.`, {
      label: "Undo",
      run: () => this.attempt(bringBack),
    });
  }

  private async enter(line: string): Promise<void> {
    if (line.trim() === "") return;
    const apps = OWN_APPS.map(({ name }) => name);
    const { system, said, opens, clears, isForModel } = run(this.system, line, { clicks: this.clicks, apps });
    const before = this.system;
    if (system !== before) this.change(system);
    this.sayDeleted(before, system);
    if (clears === true) this.setTurns([]);
    else if (isForModel === true) await this.reply(line.trim());
    else this.setTurns(withTurn(this.turns, { line: line.trim(), said, by: "" }));
    if (opens !== undefined) this.host.openNamed(opens);
  }

  /** Has a model answer what is no command. */
  private async reply(line: string): Promise<void> {
    await this.models.load();
    const card = this.answererOf(line);
    if (card === undefined) {
      this.setTurns(withTurn(this.turns, { line, said: this.refusal(), by: "" }));
      return;
    }
    const before = this.turns;
    this.setTurns(withTurn(before, { line, said: "", by: card.id }));
    const told = before
      .filter(({ by }) => by !== "")
      .slice(-MAX_TOLD)
      .flatMap(({ line: asked, said }): Message[] => [
        { role: "user", content: asked },
        { role: "assistant", content: said },
      ]);
    let said = "";
    try {
      said = await this.answer("", card, line, told);
    } catch (error) {
      said =
        this.stopping.get("")?.signal.aborted === true
          ? "Stopped."
          : `No answer: ${(error as Error).message}.`;
    }
    this.setTurns(withTurn(before, { line, said, by: card.id }));
    announce(said);
  }

  /** What a model answers, which is shown while it is written. */
  private async answer(path: string, card: ModelCard, prompt: string, turns: Message[]): Promise<string> {
    const stop = new AbortController();
    this.stopping.set(path, stop);
    const show = (text: string | null) => {
      const others = [...this.drafts].filter(([each]) => each !== path);
      this.drafts = new Map(text === null ? others : [...others, [path, text]]);
      this.host.requestUpdate();
    };
    show("");
    try {
      return await prose(api, card, prompt, {
        turns,
        seed: this.asked++,
        signal: stop.signal,
        onView: (view: CanvasView) => show(textOf(view)),
      });
    } finally {
      show(null);
    }
  }

  private answerers(): ModelCard[] {
    return (this.cards ?? []).filter((card) => card.capabilities.includes("chat") && !isAuthor(card));
  }

  /** The model that was chosen, or one that was trained on such prompts, or any that writes whatever it is asked. */
  private answererOf(prompt: string): ModelCard | undefined {
    const able = this.answerers();
    return able.find(({ id }) => id === this.choices.answerer) ?? knowing(able, prompt) ?? writers(able)[0];
  }

  private refusal(): string {
    const known = this.answerers().find(({ sfumato }) => sfumato.kinds.length > 0);
    const examples = (known?.sfumato.kinds ?? []).map(({ example }) => example);
    const [example] = examples.sort((one, other) => one.length - other.length);
    const trained =
      known === undefined || example === undefined
        ? ""
        : ` ${known.id} only answers what it was trained on, such as “${example}”.`;
    return `No model on this server can write that.${trained} For free text, restart it with a language model: sfumato serve ui smollm2-135m-instruct`;
  }

  private attempt(change: () => void): void {
    try {
      change();
    } catch (error) {
      sayError(error);
    }
  }

  /** Whether a file's text can be undone. */
  canUndo(path: string): boolean {
    return (this.texts.get(path)?.at ?? 0) > 0;
  }

  /** Takes back changes of a file's text, or does them again; false if there are none. */
  move(path: string, by: number): boolean {
    const steps = this.texts.get(path) ?? noSteps<string>();
    const next = go(steps, by);
    const text = current(next);
    if (next.at === steps.at || text === undefined) return false;
    this.change(withFile(this.system, path, text));
    this.texts = new Map([...this.texts, [path, next]]);
    return true;
  }

  private change(system: System, typed = ""): void {
    remember("desktop.files", system);
    this.show(system, typed);
  }

  private show(system: System, typed = ""): void {
    const before = this.system;
    this.system = system;
    const isTyping = typed !== "" && typed === this.typed;
    this.typed = typed;
    this.texts = new Map(
      before.files.flatMap(({ path, text }) => {
        const to = pathAfter(before, system, path);
        const next = to === undefined ? undefined : findFile(system, to)?.text;
        const steps = this.texts.get(path) ?? push(noSteps(), text);
        if (to === undefined || next === undefined || (next === text && steps.at === 0)) return [];
        const isLast = steps.at > 0 && steps.at === steps.all.length - 1;
        return [[to, next === text ? steps : isTyping && isLast ? held(steps, next) : push(steps, next)]];
      }),
    );
    this.host.onFiles(before, system);
    this.host.requestUpdate();
  }

  private choose(change: Partial<Choices>): void {
    this.choices = { ...this.choices, ...change };
    remember("desktop.choices", this.choices);
  }

  private setTurns(turns: readonly Turn[]): void {
    this.turns = turns;
    remember("desktop.terminal", turns);
    this.host.requestUpdate();
  }
}
