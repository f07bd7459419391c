/** The person's own files; they are sent only to the page's server. */

/** A file's text, including a byte order mark. Throws an Error if it is not UTF-8. */
export async function readText(file: File): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is no text in UTF-8; open a text file`);
  }
}

/** Downloads a file. */
export function saveFile(name: string, content: BlobPart, type = "text/plain;charset=utf-8"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  // Leave the browser time to start reading it.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** An error as a sentence. */
export function sentenceOf(error: unknown): string {
  const text = (error instanceof Error ? error.message : String(error)).trim();
  // Names of models, files and settings stay as they are.
  const begun = /^(?:a|an|the|this|that|there|no|it|is|your) /.test(text)
    ? text.charAt(0).toUpperCase() + text.slice(1)
    : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
