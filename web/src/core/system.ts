/** The files of the desktop. Values, never changed in place. */
export interface TextFile {
  /** Its name, behind that of its folder if it is in one: "documents/plan.txt". */
  readonly path: string;
  readonly text: string;
}

export interface System {
  readonly files: readonly TextFile[];
  readonly folders: readonly string[];
  /** Deleted files, the last first; one that comes back gets its text from here. */
  readonly trash: readonly TextFile[];
}

/** Something that cannot be done to a file; the message is for the person. */
export class FileError extends Error {
  override name = "FileError";
}

const MAX_FILES = 60;
export const MAX_TRASH = 60;
export const MAX_TEXT = 20_000;
const NAME = /^[\p{L}\p{N}_.-](?: ?[\p{L}\p{N}_.,()-]){0,31}$/u;

export const FIRST_SYSTEM: System = {
  files: [
    {
      path: "readme.txt",
      text: "Files stay in this browser.\nOpen one to edit it, or use the terminal: help lists its commands.\n",
    },
    { path: "shopping.txt", text: "bread\nbutter\napples\n" },
    { path: "documents/plan.txt", text: "1. Pack the books\n2. Cancel the internet\n3. Hire a van\n" },
  ],
  folders: ["documents"],
  trash: [],
};

/** A path as it is kept. Throws FileError. */
export function pathOf(given: string): string {
  const parts = given
    .trim()
    .replace(/^\.?\//, "")
    .split("/");
  if (parts.length > 2) {
    throw new FileError(`“${given}” is too deep: folders hold files only, as in documents/plan.txt`);
  }
  for (const part of parts) {
    if (NAME.test(part) && !/^\.+$/.test(part)) continue;
    throw new FileError(
      part === ""
        ? "A file needs a name, such as notes.txt"
        : `“${part}” cannot be a name: use up to 32 letters, digits, spaces and . - _ , ( )`,
    );
  }
  return parts.join("/");
}

export const folderOf = (path: string): string => path.split("/").slice(0, -1).join("/");
export const nameOf = (path: string): string => path.split("/").at(-1) ?? "";

export function findFile(system: System, path: string): TextFile | undefined {
  return system.files.find((file) => file.path === path);
}

/** Where a file is after a change; undefined if it is gone. */
export function pathAfter(before: System, after: System, path: string): string | undefined {
  if (findFile(after, path) !== undefined) return path;
  const index = before.files.findIndex((file) => file.path === path);
  return before.files.length === after.files.length ? after.files[index]?.path : undefined;
}

/** Files with all folders that they need; checked as a whole. Throws FileError. */
export function withFiles(system: System, files: readonly TextFile[], folders = system.folders): System {
  if (files.length > MAX_FILES) {
    throw new FileError(`This desktop holds up to ${MAX_FILES} files; delete one first`);
  }
  const paths = new Set<string>();
  for (const { path, text } of files) {
    if (paths.has(path)) throw new FileError(`“${path}” exists already; choose another name`);
    if (text.length > MAX_TEXT) {
      throw new FileError(`“${path}” would have ${text.length} characters; up to ${MAX_TEXT} fit`);
    }
    paths.add(path);
  }
  const all = [...new Set([...folders, ...files.map(({ path }) => folderOf(path))])].filter(
    (each) => each !== "",
  );
  const taken = all.find((folder) => paths.has(folder));
  if (taken !== undefined) throw new FileError(`“${taken}” exists already; choose another name`);
  return { ...system, files, folders: all };
}

/** With a file of that text, new or changed. Throws FileError. */
export function withFile(system: System, given: string, text: string): System {
  const path = pathOf(given);
  const files =
    findFile(system, path) === undefined
      ? [...system.files, { path, text }]
      : system.files.map((file) => (file.path === path ? { path, text } : file));
  return withFiles(system, files);
}

/** Without a file, or without a folder and all that is in it. Throws FileError. */
export function withoutFile(system: System, given: string): System {
  const path = pathOf(given);
  const isGone = (file: TextFile) => file.path === path || folderOf(file.path) === path;
  const gone = system.files.filter(isGone);
  if (gone.length === 0 && !system.folders.includes(path)) throw new FileError(`There is no file “${path}”`);
  return {
    files: system.files.filter((file) => !isGone(file)),
    folders: system.folders.filter((folder) => folder !== path),
    trash: [...gone, ...system.trash].slice(0, MAX_TRASH),
  };
}

/** With a file under another path. Throws FileError. */
export function withRenamed(system: System, from: string, to: string): System {
  const [path, next] = [pathOf(from), pathOf(to)];
  if (findFile(system, path) === undefined) throw new FileError(`There is no file “${path}”`);
  return withFiles(
    system,
    system.files.map((file) => (file.path === path ? { ...file, path: next } : file)),
  );
}

/** With an empty folder. Throws FileError. */
export function withFolder(system: System, given: string): System {
  const path = pathOf(given);
  if (folderOf(path) !== "") throw new FileError("Folders hold files only; make it beside the others");
  return withFiles(system, system.files, [...system.folders, path]);
}

/** The system that was kept; the first one where nothing was. */
export function readSystem(kept: unknown): System {
  const { files, folders, trash } = (kept ?? {}) as Record<string, unknown>;
  const isFile = (given: unknown): given is TextFile => {
    const { path, text } = (given ?? {}) as Record<string, unknown>;
    return typeof path === "string" && typeof text === "string";
  };
  if (!Array.isArray(files) || !files.every(isFile) || !Array.isArray(folders)) return FIRST_SYSTEM;
  const names = folders.filter((each): each is string => typeof each === "string");
  const removed = Array.isArray(trash) ? trash.filter(isFile) : [];
  try {
    return withFiles({ files, folders: names, trash: removed }, files);
  } catch {
    return FIRST_SYSTEM;
  }
}
