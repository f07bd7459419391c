/** A history of values, with undo and redo. Values, never changed in place. */
export interface Steps<T> {
  readonly all: readonly T[];
  /** Index of the current one; -1 for none. */
  readonly at: number;
}

const MAX_UNDONE = 50;

export function noSteps<T>(): Steps<T> {
  return { all: [], at: -1 };
}

export function current<T>(steps: Steps<T>): T | undefined {
  return steps.all[steps.at];
}

/** Adds a step; undone steps are dropped. */
export function push<T>(steps: Steps<T>, next: T): Steps<T> {
  const all = [...steps.all.slice(0, steps.at + 1), next];
  return { all, at: all.length - 1 };
}

/** Moves by some steps, within the history. */
export function go<T>(steps: Steps<T>, by: number): Steps<T> {
  return {
    ...steps,
    at: Math.max(Math.min(0, steps.all.length - 1), Math.min(steps.all.length - 1, steps.at + by)),
  };
}

/** What was shown before the last changes, and what they were undone from. */
export class Undoable<T> {
  private past: readonly T[] = [];
  private future: readonly T[] = [];

  /** Call it with what is shown before a change. */
  keep(shown: T): void {
    [this.past, this.future] = [[...this.past, shown].slice(-MAX_UNDONE), []];
  }

  can(by: -1 | 1): boolean {
    return (by < 0 ? this.past : this.future).length > 0;
  }

  /** What to show in place of what is shown; undefined if there is nothing to undo or redo. */
  move(by: -1 | 1, shown: T): T | undefined {
    const next = (by < 0 ? this.past : this.future).at(-1);
    if (next === undefined) return undefined;
    if (by < 0) [this.past, this.future] = [this.past.slice(0, -1), [...this.future, shown]];
    else [this.past, this.future] = [[...this.past, shown], this.future.slice(0, -1)];
    return next;
  }
}
