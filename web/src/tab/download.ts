/** Files of a model: downloaded once, checked against export.json, and kept by the browser for when there is no network. */
import type { FileFacts, Manifest } from "./settings";

const KEPT = "sfumato-tab-models";

/** How far a download is, in bytes of all files together. */
export type OnProgress = (loaded: number, total: number) => void;

/** The browser's cache; undefined where it has none, as on pages of plain HTTP that are not this machine's. */
async function opened(): Promise<Cache | undefined> {
  try {
    return await caches.open(KEPT);
  } catch {
    return undefined;
  }
}

async function digest(content: ArrayBuffer): Promise<string | null> {
  // Exists where the cache does.
  if (!("subtle" in crypto)) return null;
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const asMegabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Throws an Error if a file is not what export.json says. */
export async function checkFile(name: string, content: ArrayBuffer, facts: FileFacts): Promise<void> {
  if (content.byteLength !== facts.bytes) {
    throw new Error(
      `${name} came as ${asMegabytes(content.byteLength)} of ${asMegabytes(facts.bytes)}: the download broke off, or ` +
        "the server's file is of another version. Try again",
    );
  }
  const found = await digest(content);
  if (found !== null && found !== facts.sha256) {
    throw new Error(
      `${name} is of another version than export.json says; have the server export the model anew`,
    );
  }
}

async function readAll(response: Response, onPart: (bytes: number) => void): Promise<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    parts.push(next.value);
    size += next.value.length;
    onPart(next.value.length);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.buffer;
}

async function fetched(url: string): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url);
  } catch {
    throw new Error("the server cannot be reached, and this browser has not stored it");
  }
  if (!response.ok) throw new Error(`the server answered ${response.status} for ${url}`);
  return response;
}

/** JSON that may change: the server's, or without a network what was kept of it. */
export async function getJson(url: string): Promise<unknown> {
  const cache = await opened();
  try {
    const response = await fetched(url);
    await cache?.put(url, response.clone());
    return (await response.json()) as unknown;
  } catch (error) {
    const kept = await cache?.match(url);
    if (kept === undefined) throw error;
    return (await kept.json()) as unknown;
  }
}

/**
 * The files of a model, by name. What was kept is taken from there; what comes is kept once it is whole.
 *
 * Throws an Error if one cannot be got, or is not what it should be; then nothing of it is kept.
 */
export async function getFiles(
  directory: string,
  files: Readonly<Record<string, FileFacts>>,
  onProgress: OnProgress,
): Promise<Map<string, ArrayBuffer>> {
  const cache = await opened();
  const total = Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0);
  const found = new Map<string, ArrayBuffer>();
  let loaded = 0;
  const onPart = (bytes: number) => onProgress((loaded += bytes), total);
  for (const [name, facts] of Object.entries(files)) {
    const url = addressOf(directory, name, facts.sha256);
    const kept = await cache?.match(url);
    const content = await readAll(kept ?? (await fetched(url)), onPart);
    try {
      await checkFile(name, content, facts);
    } catch (error) {
      await cache?.delete(url);
      throw error;
    }
    if (kept === undefined) await keep(cache, url, content);
    found.set(name, content);
  }
  await forgetOthers(cache, directory, files);
  return found;
}

/** Whether the browser has stored all of a model, so that it needs no network. */
export async function isStored(directory: string): Promise<boolean> {
  const cache = await opened();
  const manifest = await cache?.match(`${directory}/export.json`);
  if (cache === undefined || manifest === undefined) return false;
  const { files } = (await manifest.json()) as Pick<Manifest, "files">;
  const found = await Promise.all(
    Object.entries(files).map(([name, { sha256 }]) => cache.match(addressOf(directory, name, sha256))),
  );
  return found.every((file) => file !== undefined);
}

const addressOf = (directory: string, name: string, sha256: string) => `${directory}/${name}?${sha256}`;

async function keep(cache: Cache | undefined, url: string, content: ArrayBuffer): Promise<void> {
  try {
    await cache?.put(url, new Response(content));
  } catch {
    // No room: it works, with the network.
  }
}

/** Versions of before. */
async function forgetOthers(
  cache: Cache | undefined,
  directory: string,
  files: Readonly<Record<string, FileFacts>>,
): Promise<void> {
  for (const { url } of (await cache?.keys()) ?? []) {
    const { pathname, search } = new URL(url);
    const name = pathname.slice(directory.length + 1);
    const isOld =
      pathname.startsWith(`${directory}/`) && search !== "" && search !== `?${files[name]?.sha256 ?? ""}`;
    if (isOld) await cache?.delete(url);
  }
}
