/** The terminal of the desktop: a closed set of commands on its files. What is none of them is for a model. */
import {
  FileError,
  findFile,
  folderOf,
  nameOf,
  pathOf,
  withFile,
  withFolder,
  withoutFile,
  withRenamed,
  type System,
} from "./system";

/** A line that was typed, and what came of it. */
export interface Turn {
  readonly line: string;
  readonly said: string;
  /** The model that answered; empty if the terminal did. */
  readonly by: string;
}

export interface Ran {
  readonly system: System;
  readonly said: string;
  /** A file or an app to open. */
  readonly opens?: string;
  readonly clears?: boolean;
  /** Whether it is no command. */
  readonly isForModel?: boolean;
}

const MAX_TURNS = 100;

type Command = (system: System, given: readonly string[], context: Context) => Partial<Ran>;
interface Context {
  /** The last clicks, as they were sent. */
  readonly clicks: readonly object[];
  readonly apps: readonly string[];
}

function two(given: readonly string[], usage: string): readonly [string, string] {
  const [one, other, ...rest] = given;
  if (one === undefined || other === undefined || rest.length > 0) throw new FileError(`Usage: ${usage}`);
  return [one, other];
}

function first(given: readonly string[], usage: string): string {
  const [one] = given;
  if (one === undefined || given.length > 1) throw new FileError(`Usage: ${usage}`);
  return one;
}

/** Where a file goes that is moved to a path: into it, if that is a folder. */
function target(system: System, from: string, to: string): string {
  const path = pathOf(to.replace(/\/$/, ""));
  return system.folders.includes(path) ? `${path}/${nameOf(from)}` : path;
}

function read(system: System, given: string): string {
  const file = findFile(system, pathOf(given));
  if (file === undefined) throw new FileError(`There is no file “${given}”; ls lists them`);
  return file.text;
}

function list(system: System, given: string | undefined): string {
  const folder = given === undefined ? "" : pathOf(given.replace(/\/$/, ""));
  if (folder !== "" && !system.folders.includes(folder))
    throw new FileError(`There is no folder “${folder}”`);
  const names = system.files.filter(({ path }) => folderOf(path) === folder).map(({ path }) => nameOf(path));
  const folders = folder === "" ? system.folders.map((each) => `${each}/`) : [];
  return [...folders, ...names.sort()].join("\n") || "Nothing in here.";
}

const COMMANDS: Readonly<Record<string, { usage: string; does: string; run: Command }>> = {
  ls: { usage: "ls [folder]", does: "list files", run: (system, [given]) => ({ said: list(system, given) }) },
  cat: {
    usage: "cat file",
    does: "show a file",
    run: (system, given) => ({ said: read(system, first(given, "cat file")) }),
  },
  echo: {
    usage: "echo text > file",
    does: "write a file; >> adds a line to it",
    run: (_, given) => ({ said: given.join(" ") }),
  },
  touch: {
    usage: "touch file",
    does: "make an empty file",
    run: (system, given) => {
      const path = pathOf(first(given, "touch file"));
      return findFile(system, path) === undefined ? { system: withFile(system, path, "") } : {};
    },
  },
  mkdir: {
    usage: "mkdir folder",
    does: "make a folder",
    run: (system, given) => ({ system: withFolder(system, first(given, "mkdir folder")) }),
  },
  mv: {
    usage: "mv file file",
    does: "rename or move a file",
    run: (system, given) => {
      const [from, to] = two(given, "mv file file");
      return { system: withRenamed(system, from, target(system, from, to)) };
    },
  },
  cp: {
    usage: "cp file file",
    does: "copy a file",
    run: (system, given) => {
      const [from, to] = two(given, "cp file file");
      const path = target(system, from, to);
      if (findFile(system, path) !== undefined)
        throw new FileError(`“${path}” exists already; choose another name`);
      return { system: withFile(system, path, read(system, from)) };
    },
  },
  rm: {
    usage: "rm file",
    does: "delete a file or a folder",
    run: (system, given) => ({ system: withoutFile(system, first(given, "rm file").replace(/\/$/, "")) }),
  },
  open: {
    usage: "open name",
    does: "open a file or an app in a window",
    run: (system, given, { apps }) => {
      const name = given.join(" ");
      const app = apps.find((each) => each.toLowerCase() === name.toLowerCase());
      if (app === undefined) read(system, first([name], "open name"));
      return { opens: app ?? pathOf(name) };
    },
  },
  clicks: {
    usage: "clicks",
    does: "show the last clicks, as they were sent",
    run: (_, __, { clicks }) => ({
      said: clicks.map((each) => JSON.stringify(each)).join("\n") || "No click yet.",
    }),
  },
  clear: { usage: "clear", does: "empty the terminal", run: () => ({ clears: true }) },
  help: { usage: "help", does: "show this list", run: () => ({ said: help() }) },
};

function help(): string {
  const width = Math.max(...Object.values(COMMANDS).map(({ usage }) => usage.length)) + 2;
  const lines = Object.values(COMMANDS).map(({ usage, does }) => usage.padEnd(width) + does);
  return [...lines, "Anything else is passed to a language model."].join("\n");
}

/** Commands of other terminals, which no model should make answers up for. */
const ELSEWHERE = new Set(
  "bash cd chmod chown curl git grep kill man nano npm pip ps pwd python python3 ssh sudo vi vim wget whoami".split(
    " ",
  ),
);

/** The words of a line; what stands in quotes is one. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, one, other, bare]) => one ?? other ?? bare ?? "",
  );
}

/** Runs a line. What is wrong with it is said, never thrown. */
export function run(system: System, line: string, context: Context): Ran {
  const [name = "", ...given] = wordsOf(line);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    return ELSEWHERE.has(name)
      ? { system, said: `There is no command ${name}; help lists them.` }
      : { system, said: "", isForModel: true };
  }
  try {
    const write = /^echo\s+(.*?)\s*(>>?)\s*(\S.*)$/s.exec(line.trim());
    if (write === null) return { system, said: "", ...command.run(system, given, context) };
    const [, text = "", way, to = ""] = write;
    const path = pathOf(wordsOf(to).join(" "));
    const before = way === ">>" ? (findFile(system, path)?.text ?? "") : "";
    return { system: withFile(system, path, `${before}${wordsOf(text).join(" ")}\n`), said: "" };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { system, said: `${error.message}.` };
  }
}

export function withTurn(turns: readonly Turn[], turn: Turn): readonly Turn[] {
  return [...turns, turn].slice(-MAX_TURNS);
}

/** What was typed and said, as the terminal shows it. */
export function transcript(turns: readonly Turn[]): string {
  if (turns.length === 0) return "Type a command and press Enter; help lists them.";
  return turns
    .flatMap(({ line, said, by }) => [`$ ${line}`, ...(by === "" ? [] : [`${by} answers:`]), said.trimEnd()])
    .filter((each) => each !== "")
    .join("\n");
}

/** The turns that were kept. */
export function readTurns(kept: unknown): readonly Turn[] {
  return (Array.isArray(kept) ? kept : []).filter((given): given is Turn => {
    const { line, said, by } = (given ?? {}) as Record<string, unknown>;
    return [line, said, by].every((each) => typeof each === "string");
  });
}
