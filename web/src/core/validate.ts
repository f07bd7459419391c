/**
 * Problems of a value, shown at once in its form.
 *
 * Patterns and formats are the server's to judge: a hostile expression could block the page.
 */
import { isObject, own, pointerOf, resolve, type Path, type Schema } from "./schema";

export interface Problem {
  readonly pointer: string;
  readonly message: string;
}

const MAX_DEPTH = 32;
const MAX_PROBLEMS = 100;

/** Problems of a value; none for one that has all that the schema says. */
export function problemsOf(root: Schema, value: unknown): Problem[] {
  return check(root, root, value, [], 0).slice(0, MAX_PROBLEMS);
}

function check(given: unknown, root: Schema, value: unknown, path: Path, depth: number): Problem[] {
  const one = (message: string): Problem[] => [{ pointer: pointerOf(path), message }];
  if (given === false) return one("nothing may stand here");
  if (given === true || depth > MAX_DEPTH) return [];
  const schema = resolve(given, root);
  const inside = (inner: unknown) => check(inner, root, value, path, depth + 1);
  const found = list(schema.allOf).flatMap(inside);
  if (Object.hasOwn(schema, "const") && !isSame(schema.const, value))
    found.push(...one(`must be ${JSON.stringify(schema.const)}`));
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => isSame(each, value)))
    found.push(
      ...one(
        `must be one of ${schema.enum
          .slice(0, 10)
          .map((each) => JSON.stringify(each))
          .join(", ")}`,
      ),
    );
  const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  if (types.length > 0 && !types.some((type) => hasType(value, type))) {
    return [...found, ...one(value === undefined ? "is missing" : `must be ${types.join(" or ")}`)];
  }
  if (Array.isArray(schema.anyOf) && !schema.anyOf.some((each) => inside(each).length === 0))
    found.push(...one("fits none of what is allowed"));
  if (Array.isArray(schema.oneOf) && schema.oneOf.filter((each) => inside(each).length === 0).length !== 1)
    found.push(...one("must fit exactly one of what is allowed"));
  for (const [name, isKept, message] of LIMITS) {
    const limit = schema[name];
    if (typeof limit === "number" && isKept(value, limit) === false)
      found.push(...one(`${message} ${limit}`));
  }
  if (isObject(value)) {
    for (const name of list(schema.required)) {
      if (typeof name === "string" && !Object.hasOwn(value, name))
        found.push({ pointer: pointerOf([...path, name]), message: "is missing" });
    }
    for (const name of Object.keys(value)) {
      const named = own(schema.properties, name);
      const isPatterned = isObject(schema.patternProperties);
      const inner = named ?? (isPatterned ? true : schema.additionalProperties) ?? true;
      found.push(...check(inner, root, value[name], [...path, name], depth + 1));
    }
  }
  if (Array.isArray(value)) {
    const first = list(schema.prefixItems);
    value.forEach((item, i) =>
      found.push(...check(first[i] ?? schema.items ?? true, root, item, [...path, String(i)], depth + 1)),
    );
  }
  return found;
}

/** Whether a value is within a limit; undefined if the limit does not apply. */
const LIMITS: readonly [string, (value: unknown, limit: number) => boolean | undefined, string][] = [
  ["minimum", (value, limit) => (typeof value === "number" ? value >= limit : undefined), "must be at least"],
  ["maximum", (value, limit) => (typeof value === "number" ? value <= limit : undefined), "must be at most"],
  [
    "exclusiveMinimum",
    (value, limit) => (typeof value === "number" ? value > limit : undefined),
    "must be more than",
  ],
  [
    "exclusiveMaximum",
    (value, limit) => (typeof value === "number" ? value < limit : undefined),
    "must be less than",
  ],
  [
    "multipleOf",
    (value, limit) => (typeof value === "number" ? isMultiple(value, limit) : undefined),
    "must be a multiple of",
  ],
  [
    "minLength",
    (value, limit) => (typeof value === "string" ? Array.from(value).length >= limit : undefined),
    "has fewer characters than",
  ],
  [
    "maxLength",
    (value, limit) => (typeof value === "string" ? Array.from(value).length <= limit : undefined),
    "has more characters than",
  ],
  [
    "minItems",
    (value, limit) => (Array.isArray(value) ? value.length >= limit : undefined),
    "has fewer items than",
  ],
  [
    "maxItems",
    (value, limit) => (Array.isArray(value) ? value.length <= limit : undefined),
    "has more items than",
  ],
];

function isMultiple(value: number, of: number): boolean {
  const ratio = value / of;
  return Math.abs(ratio - Math.round(ratio)) < 1e-9 * Math.max(1, Math.abs(ratio));
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function hasType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "number":
    case "string":
    case "boolean":
      return typeof value === type;
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return true;
  }
}

/** Whether two values are equal in JSON; the order of names does not matter. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, i) => isSame(each, other[i]));
  }
  if (isObject(one) && isObject(other)) {
    const names = Object.keys(one);
    return (
      names.length === Object.keys(other).length &&
      names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
    );
  }
  return one === other;
}
