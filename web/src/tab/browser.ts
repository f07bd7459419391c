/** What a browser needs to run models, and what it says when it cannot. */

// A function that makes a vector of 128 bits.
const SIMD = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98,
  11,
];

/** Throws an Error if this browser cannot run it. */
export function checkBrowser(): void {
  if (typeof WebAssembly !== "object" || !WebAssembly.validate(Uint8Array.from(SIMD))) {
    throw new Error(
      "this browser has no WebAssembly with SIMD, which the tab computes with; use one of 2023 or later, or the " +
        "server's canvas page",
    );
  }
}

/** An error in words that help: of what onnxruntime and browsers throw, running out of memory is the one to expect. */
export function explained(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  if (
    error instanceof RangeError ||
    /bad_alloc|out of memory|memory access|allocation failed/i.test(message)
  ) {
    return new Error(
      `this browser has no memory left for the model; close other tabs and try again (${message})`,
    );
  }
  return error instanceof Error ? error : new Error(message);
}
