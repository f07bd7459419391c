/** Files of the person's own, which go nowhere but to the server that the page came from. */

/** A file's text, byte for byte: a mark of byte order stays. Throws an Error if it is no UTF-8. */
export async function readText(file: File): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is no text in UTF-8; open a text file`);
  }
}

/** Has the browser save a file. */
export function saveFile(name: string, content: BlobPart, type = "text/plain;charset=utf-8"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  // Not before the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** An error as a sentence. */
export function sentenceOf(error: unknown): string {
  const text = (error instanceof Error ? error.message : String(error)).trim();
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
