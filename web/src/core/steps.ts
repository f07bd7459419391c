/** A history of values, with undo and redo. Values, never changed in place. */
export interface Steps<T> {
  readonly all: readonly T[];
  /** Index of the current one; -1 for none. */
  readonly at: number;
}

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

/** With another value as the current one. */
export function held<T>(steps: Steps<T>, now: T): Steps<T> {
  return current(steps) === undefined ? push(steps, now) : { ...steps, all: steps.all.with(steps.at, now) };
}
