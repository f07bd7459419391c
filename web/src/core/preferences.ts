/** What a person chose, kept by the browser where it can be. */
export function remembered<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(`sfumato.${name}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(`sfumato.${name}`, JSON.stringify(value));
  } catch {
    // Private windows may have no room; the choice then lasts as long as the page.
  }
}
