/** What a JSON Schema says of a value: the fields of its form, and what is wrong with what stands in them. */

export type Schema = Readonly<Record<string, unknown>>;

/** A value's place, from the root: names of properties and numbers of items. */
export type Path = readonly string[];

export interface Field {
  readonly path: Path;
  readonly name: string;
  readonly description: string;
  readonly control: "text" | "number" | "choice" | "group" | "list" | "any";
  /** Of a choice. */
  readonly choices: readonly unknown[];
  readonly isRequired: boolean;
  /** Of a group or list. */
  readonly children: readonly Field[];
}

/** Fields further down are written as JSON. */
const MAX_DEPTH = 8;
const MAX_EMPTY_DEPTH = 3;
const MAX_ITEMS = 200;

/** "#/a/b" out of "a", "b". */
export function pointerOf(path: Path): string {
  return path.map((each) => `/${each.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is under a name, and never what every object has. */
export function own(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return /^\d+$/.test(name) ? (value[Number(name)] as unknown) : undefined;
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** A schema, or the one of the same document that it refers to. */
export function resolve(schema: unknown, root: Schema): Schema {
  const seen = new Set<unknown>();
  while (isObject(schema) && typeof schema.$ref === "string" && !seen.has(schema)) {
    seen.add(schema);
    const names = schema.$ref.split("/").slice(1);
    schema = names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~")).reduce<unknown>(own, root);
  }
  return isObject(schema) && typeof schema.$ref !== "string" ? schema : {};
}

/** The schema of a property: its own, or that of properties which are not named. */
function schemaOfProperty(schema: Schema, name: string): unknown {
  return (
    own(schema.properties, name) ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : {})
  );
}

function schemaOfItem(schema: Schema, index: number): unknown {
  const first: unknown = Array.isArray(schema.prefixItems) ? schema.prefixItems[index] : undefined;
  return first ?? schema.items ?? {};
}

/** The form of a schema, as far as a value needs it: items and properties that are not named come with the value. */
export function fieldsOf(root: Schema, value: unknown): Field {
  return fieldOf(root, root, value, [], true);
}

function fieldOf(given: unknown, root: Schema, value: unknown, path: Path, isRequired: boolean): Field {
  const schema = resolve(given, root);
  const common = {
    path,
    name: typeof schema.title === "string" ? schema.title : (path.at(-1) ?? "The answer"),
    description: typeof schema.description === "string" ? schema.description : "",
    isRequired,
    choices: [],
    children: [],
  };
  const choices = choicesOf(schema);
  if (choices !== null) return { ...common, control: "choice", choices };
  // A schema may refer to itself; what has no value yet is not followed far.
  if (path.length >= (value === undefined ? MAX_EMPTY_DEPTH : MAX_DEPTH))
    return { ...common, control: "any" };
  if (schema.type === "object" || isObject(schema.properties)) {
    const required = Array.isArray(schema.required) ? schema.required : [];
    const names = new Set([
      ...Object.keys(isObject(schema.properties) ? schema.properties : {}),
      ...Object.keys(isObject(value) ? value : {}),
    ]);
    const isOpen = Boolean(schema.additionalProperties) || "patternProperties" in schema;
    const children = Array.from(names, (name) => {
      const property = schemaOfProperty(schema, name);
      const field = fieldOf(property, root, own(value, name), [...path, name], required.includes(name));
      const isKnown = isOpen || own(schema.properties, name) !== undefined;
      return isKnown
        ? field
        : { ...field, description: "Not in the schema: gone when the form is filled again." };
    });
    return { ...common, control: "group", children };
  }
  if (schema.type === "array") {
    const items: unknown[] = Array.isArray(value) ? value.slice(0, MAX_ITEMS) : [];
    const children = items.map((item, i) =>
      fieldOf(schemaOfItem(schema, i), root, item, [...path, String(i)], true),
    );
    return { ...common, control: "list", children };
  }
  if (schema.type === "string") return { ...common, control: "text" };
  if (schema.type === "integer" || schema.type === "number") return { ...common, control: "number" };
  return { ...common, control: "any" };
}

function choicesOf(schema: Schema): unknown[] | null {
  if (Object.hasOwn(schema, "const")) return [schema.const];
  if (Array.isArray(schema.enum)) return schema.enum as unknown[];
  if (schema.type === "boolean") return [true, false];
  return schema.type === "null" ? [null] : null;
}

/** The value with another one at a place; a name keeps its place among the others. */
export function withValue(root: unknown, path: Path, value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const inner = withValue(own(root, name), rest, value);
  if (Array.isArray(root))
    return root.map((item: unknown, i): unknown => (String(i) === name ? inner : item));
  const entries = Object.entries(isObject(root) ? root : {});
  const at = entries.findIndex(([key]) => key === name);
  entries.splice(at < 0 ? entries.length : at, at < 0 ? 0 : 1, [name, inner]);
  return Object.fromEntries(entries);
}

/** What of a path can be pinned: all of it, or all before the number of an item. */
export function pinnable(path: Path, value: unknown): Path {
  let at = value;
  for (const [i, name] of path.entries()) {
    if (Array.isArray(at)) return path.slice(0, i);
    at = own(at, name);
  }
  return path;
}
