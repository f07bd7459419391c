/** The files of the desktop as a screen, which people and models change like any other. */
import { checkPage, newIds, parse, toText, walk, type Component } from "../ui/tree";
import {
  findFile,
  folderOf,
  MAX_TRASH,
  nameOf,
  pathOf,
  withFiles,
  type System,
  type TextFile,
} from "./system";

/** The file tree before anything is in it: entries of a list are files, cards are folders. */
const FILE_TREE = parse(
  "a page: Files\n b header: Files\n c list\n d row\n  e input: New file\n  f button: Create",
);

/** The paths of the entries of a file tree, by slot. */
export function pathsOf(page: Component): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (holder: Component, folder: string): void => {
    for (const child of holder.children) {
      if (holder.kind === "list") found.set(child.id, folder + child.text);
      else visit(child, isFolder(child) ? `${child.text}/` : folder);
    }
  };
  visit(page, "");
  return found;
}

function isFolder({ kind }: Component): boolean {
  return kind === "card";
}

/**
 * What becomes of the files when their tree changes, by hand or by a model: entries that are gone are deleted, new ones
 * are new files, and others are renamed. Throws FileError.
 */
export function adopt(system: System, before: Component, after: Component): System {
  const [was, now] = [pathsOf(before), pathsOf(after)];
  const gone = new Set([...was].filter(([id]) => !now.has(id)).map(([, path]) => path));
  const kept = new Map([...was].map(([id, path]) => [path, now.get(id) ?? path]));
  const trash = [...system.files.filter(({ path }) => gone.has(path)), ...system.trash];
  const files = system.files
    .filter(({ path }) => !gone.has(path))
    .map(({ path, text }) => ({ path: pathOf(kept.get(path) ?? path), text }));
  const added = [...now]
    .filter(([id]) => !was.has(id))
    .map(([, path]) => ({ path: pathOf(path), text: trash.find((file) => file.path === path)?.text ?? "" }));
  const folders = [...walk(after)].filter(isFolder).map(({ text }) => pathOf(text));
  return withFiles({ ...system, trash: trash.slice(0, MAX_TRASH) }, [...files, ...added], folders);
}

/** Files that a sentence does not name, though it names others, and that a change would delete or rename. */
export function unnamed(sentence: string, before: System, after: System): string[] {
  const isNamed = ({ path }: TextFile) => sentence.toLowerCase().includes(nameOf(path).toLowerCase());
  if (!before.files.some(isNamed)) return [];
  const gone = before.files.filter(({ path }) => findFile(after, path) === undefined);
  return gone.filter((file) => !isNamed(file)).map(({ path }) => path);
}

/** The file tree with the files as they are. What else stands on the page stays, and so does the slot of each file. */
export function fileTree(system: System, page: Component = FILE_TREE): Component {
  const slots = new Map([...pathsOf(page)].map(([id, path]) => [path, id]));
  const ids = [...newIds(page, system.files.length + 2 * system.folders.length + 1)];
  const next = () => ids.shift() ?? "";
  const component = (
    kind: string,
    text: string,
    children: readonly Component[] = [],
    id = next(),
  ): Component => ({
    id,
    kind,
    words: [],
    text,
    cells: [],
    children,
  });
  const withEntries = (list: Component, folder: string): Component => {
    const paths = system.files.map(({ path }) => path).filter((path) => folderOf(path) === folder);
    const prefix = folder === "" ? "" : `${folder}/`;
    const kept = list.children.filter(({ kind, text }) => kind === "item" && paths.includes(prefix + text));
    const added = paths.filter((path) => !kept.some(({ text }) => prefix + text === path));
    if (added.length === 0 && kept.length === list.children.length) return list;
    const made = added.map((path) => component("item", nameOf(path), [], slots.get(path)));
    return { ...list, children: [...kept, ...made] };
  };
  const withList = (card: Component, folder: string): Component => {
    const list = card.children.find(({ kind }) => kind === "list");
    const filled = withEntries(list ?? component("list", ""), folder);
    const children =
      list === undefined
        ? [...card.children, filled]
        : card.children.map((each) => (each === list ? filled : each));
    return { ...card, children };
  };
  const children: Component[] = [];
  let hasList = false;
  const folders = new Set(system.folders);
  for (const child of page.children) {
    if (child.kind === "list" && !hasList) {
      hasList = true;
      children.push(withEntries(child, ""));
    } else if (!isFolder(child)) children.push(child);
    else if (folders.delete(child.text)) {
      children.push(withList(child, child.text));
    }
  }
  if (!hasList) children.push(withEntries(component("list", ""), ""));
  for (const folder of folders) {
    children.push(withList(component("card", folder), folder));
  }
  const made = checkPage({ ...page, children });
  return toText(made) === toText(page) ? page : made;
}
