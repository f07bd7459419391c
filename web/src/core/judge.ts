/** Who is right, where a task has answers that the page can check by itself. */
import { evaluate, show } from "./arithmetic";

export interface Judge {
  /** What is checked, in words. */
  readonly says: string;
  /** The right answer; null if there are several. */
  readonly truth: string | null;
  /** The answer that a text states, complete or still forming; null if it states none yet. */
  claim(text: string, isComplete: boolean): string | null;
  isRight(claim: string): boolean;
}

const DERIVED = /^(?:answer, then derive|derive, then answer):\s*(.+)$/;
const ASKED = /^(?:What is )?([-+*/^().\d\s]|sqrt)+[=?]?$/;
const STATED = /^answer: (-?\d{1,9})[ \t]*$/gm;
const SHOWN_FIELDS = 3;

/** The judge of a prompt; null if there is none. */
export function judgeOf(prompt: string): Judge | null {
  const asked = prompt.trim();
  const derived = DERIVED.exec(asked);
  if (derived?.[1] !== undefined) return arithmetic(derived[1], statedAnswer);
  if (ASKED.test(asked)) return arithmetic(asked.replace(/^What is |[=?]$/g, ""), loneAnswer);
  if (asked.startsWith("json: ")) return fields(asked.slice("json: ".length));
  return null;
}

/** As the task reads it: the number of the only answer line. A last line that still grows states nothing. */
function statedAnswer(text: string, isComplete: boolean): string | null {
  const whole = isComplete ? text : text.slice(0, text.lastIndexOf("\n") + 1);
  const stated = new Set([...whole.matchAll(STATED)].map((match) => String(BigInt(match[1] ?? ""))));
  return stated.size === 1 ? ([...stated][0] ?? null) : null;
}

function loneAnswer(text: string, isComplete: boolean): string | null {
  return (
    statedAnswer(text, isComplete) ?? (isComplete && /^\s*-?\d{1,9}\s*$/.test(text) ? text.trim() : null)
  );
}

function arithmetic(expression: string, claim: Judge["claim"]): Judge | null {
  let truth: string;
  try {
    truth = show(evaluate(expression));
  } catch {
    return null;
  }
  return { says: `${expression} = ${truth}`, truth, claim, isRight: (claimed) => claimed === truth };
}

/** Every name and number of the object has to stand in the sentence; of true and false nothing is said. */
function fields(sentence: string): Judge {
  const stands = sentence.toLowerCase();
  const wrong = (claim: string): string[] =>
    leaves(JSON.parse(claim)).filter((value) => {
      const escaped = value.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      return !new RegExp(`(?<![\\p{L}\\d])${escaped}(?![\\p{L}\\d])`, "u").test(stands);
    });
  return {
    says: "every name and number of the JSON object stands in the sentence",
    truth: null,
    claim: (text, isComplete) => {
      if (!isComplete) return null;
      try {
        return isRecord(JSON.parse(text)) ? text.trim() : "no JSON object";
      } catch {
        return "no JSON";
      }
    },
    isRight: (claim) => claim.startsWith("{") && wrong(claim).length === 0,
  };
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function leaves(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(leaves);
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leaves);
  return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
}

/** A claim as short as it has to be: "3 fields" of an object. */
export function shorten(claim: string): string {
  if (!claim.startsWith("{")) return claim;
  const keys = Object.keys(JSON.parse(claim) as object);
  const shown = keys.slice(0, SHOWN_FIELDS).join(", ");
  return keys.length > SHOWN_FIELDS ? `${shown}, … (${keys.length} fields)` : shown;
}
