/** Calls a function once, and again only after that failed. */
export function once<T>(run: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () =>
    (made ??= run().catch((error: unknown) => {
      made = null;
      throw error;
    }));
}
