/** Texts, and schemas of what they state. */
export interface Example {
  readonly name: string;
  readonly text: string;
  readonly schema: object;
}

const text = { type: "string", maxLength: 24 };
const number = { type: "integer", minimum: 0, maximum: 9999 };

function object(properties: Record<string, object>): object {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

export const examples: readonly Example[] = [
  {
    name: "a pet",
    text: "Our 8-year-old parrot Mia is red.",
    schema: object({
      name: text,
      animal: { enum: ["cat", "dog", "horse", "rabbit", "parrot", "goat"] },
      color: { enum: ["red", "blue", "green", "black", "white", "brown", "yellow"] },
      age: number,
    }),
  },
  {
    name: "a person",
    text: "In Oslo lives Anna Berg, a 34-year-old nurse.",
    schema: object({ name: text, age: number, job: text, city: text }),
  },
  {
    name: "a thing",
    text: "A red lamp for 40 euros, in stock.",
    schema: object({ item: text, color: text, price: number, in_stock: { type: "boolean" } }),
  },
  {
    name: "an event",
    text: "Concert in Rome on Friday at 19.",
    schema: object({ event: text, city: text, day: text, hour: number }),
  },
];
