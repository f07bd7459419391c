/** What there was, step by step, with a way back and forth. Values, never changed in place. */
export interface Steps<T> {
  readonly all: readonly T[];
  /** Which of them is there now; -1 for none. */
  readonly at: number;
}

export function noSteps<T>(): Steps<T> {
  return { all: [], at: -1 };
}

export function current<T>(steps: Steps<T>): T | undefined {
  return steps.all[steps.at];
}

/** The next one; what was taken back is gone. */
export function push<T>(steps: Steps<T>, next: T): Steps<T> {
  const all = [...steps.all.slice(0, steps.at + 1), next];
  return { all, at: all.length - 1 };
}

/** The same at another step, as far as there is one. */
export function go<T>(steps: Steps<T>, by: number): Steps<T> {
  return {
    ...steps,
    at: Math.max(Math.min(0, steps.all.length - 1), Math.min(steps.all.length - 1, steps.at + by)),
  };
}
