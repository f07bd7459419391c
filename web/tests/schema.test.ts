import { describe, expect, test } from "vitest";
import { fieldsOf, pinnable, withValue, type Field } from "../src/core/schema";
import { problemsOf } from "../src/core/validate";

const PET = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1 },
    kind: { $ref: "#/$defs/kind" },
    age: { type: "integer", minimum: 0, maximum: 30 },
    tame: { type: "boolean" },
    owner: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    toys: { type: "array", items: { type: "string" }, maxItems: 2 },
  },
  required: ["name", "age"],
  additionalProperties: false,
  $defs: { kind: { enum: ["cat", "dog"] } },
};

const flat = (field: Field): [string, string][] => [
  [field.path.join("/"), field.control],
  ...field.children.flatMap(flat),
];

test("a form has the fields that its schema names, and the items that its value has", () => {
  const form = fieldsOf(PET, { toys: ["ball", "rope"] });
  expect(flat(form)).toEqual([
    ["", "group"],
    ["name", "text"],
    ["kind", "choice"],
    ["age", "number"],
    ["tame", "choice"],
    ["owner", "group"],
    ["owner/city", "text"],
    ["toys", "list"],
    ["toys/0", "text"],
    ["toys/1", "text"],
  ]);
  expect(form.children.map(({ isRequired }) => isRequired)).toEqual([true, false, true, false, false, false]);
});

describe("hostile schemas make a form all the same", () => {
  const deep = Array.from({ length: 5000 }).reduce<object>((inner) => ({ properties: { a: inner } }), {});
  test.each<[string, Record<string, unknown>]>([
    ["that refer to themselves", { $ref: "#" }],
    ["whose parts refer to themselves", { properties: { a: { $ref: "#/properties/a" } } }],
    ["that hold themselves", { properties: { a: { $ref: "#" } } }],
    ["that refer to nothing", { properties: { a: { $ref: "#/no/such" }, b: { $ref: 3 } } }],
    ["that are deep", deep as Record<string, unknown>],
    ["of wrong types", { type: 3, properties: [1], required: "a", enum: {}, items: 7, allOf: null }],
    [
      "with names of every object",
      { properties: { constructor: { type: "string" }, ["__proto__"]: { type: "string" } } },
    ],
  ])("%s", (_name, schema) => {
    const value = { constructor: "x", a: { a: { a: 1 } } };
    expect(flat(fieldsOf(schema, value)).length).toBeLessThan(100);
    expect(Array.isArray(problemsOf(schema, value))).toBe(true);
  });
});

test("a name that every object has is a field of its own", () => {
  const changed = withValue({ a: 1 }, ["__proto__"], "x");
  expect(JSON.stringify(changed)).toBe('{"a":1,"__proto__":"x"}');
  expect(Object.getPrototypeOf(changed)).toBe(Object.prototype);
});

test("what stands in a field is put in its place", () => {
  const value = { b: 1, list: [{ x: 1 }, { x: 2 }], a: 2 };
  expect(JSON.stringify(withValue(value, ["list", "1", "x"], 9))).toBe(
    '{"b":1,"list":[{"x":1},{"x":9}],"a":2}',
  );
  expect(JSON.stringify(withValue(value, ["b"], 9))).toBe('{"b":9,"list":[{"x":1},{"x":2}],"a":2}');
  expect(JSON.stringify(withValue(undefined, ["a", "b"], 1))).toBe('{"a":{"b":1}}');
});

test("a schema that refers to itself many times is followed as far as there are values", () => {
  const properties = Object.fromEntries(
    ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => [name, { $ref: "#" }]),
  );
  expect(flat(fieldsOf({ properties }, undefined)).length).toBeLessThan(1000);
});

test("what can be pinned is outside of lists", () => {
  expect(pinnable(["toys", "0"], { toys: ["ball"] })).toEqual(["toys"]);
  expect(pinnable(["owner", "city"], { owner: { city: "Oslo" } })).toEqual(["owner", "city"]);
});

test.each<[object, string[]]>([
  [{ name: "Mia", age: 8 }, []],
  [{ name: "", age: 8 }, ["/name has fewer characters than 1"]],
  [{ name: "Mia" }, ["/age is missing"]],
  [{ name: "Mia", age: 8.5 }, ["/age must be integer"]],
  [{ name: "Mia", age: 31, kind: "cow" }, ['/kind must be one of "cat", "dog"', "/age must be at most 30"]],
  [{ name: "Mia", age: 8, more: 1 }, ["/more nothing may stand here"]],
  [{ name: "Mia", age: 8, toys: ["a", 1, "c"] }, ["/toys has more items than 2", "/toys/1 must be string"]],
])("problems of %j", (value, expected) => {
  const found = problemsOf(PET, value).map(({ pointer, message }) => `${pointer} ${message}`);
  expect(found.toSorted()).toEqual(expected.toSorted());
});

test("what a schema does not know is marked", () => {
  const about = (schema: object, name: string) =>
    fieldsOf(schema as never, { [name]: 1 }).children.find((each) => each.name === name)?.description;
  expect(about({ properties: { age: {} } }, "size")).toContain("Not in the schema");
  expect(about({ properties: { age: {} }, additionalProperties: false }, "size")).toContain("Not in");
  expect(about({ properties: { age: {} } }, "age")).toBe("");
  expect(about({ type: "object", additionalProperties: { type: "number" } }, "size")).toBe("");
  expect(about({ type: "object", patternProperties: { "^s": {} } }, "size")).toBe("");
});
