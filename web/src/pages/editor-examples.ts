/** Small files to begin with. Each has a bug that the embedded model mends, or one in each function. */
export interface Example {
  readonly name: string;
  readonly text: string;
  /** What is selected at first; without it, the model finds what is wrong. */
  readonly selected?: string;
}

export const examples: readonly Example[] = [
  { name: "area.py", text: "def area(a, b):\n    return a + b\n" },
  { name: "clamp.py", text: "def clamp(x, low, high):\n    return min(low, min(x, high))\n" },
  {
    name: "shapes.py",
    text: `"""Shapes, and what they measure. Each is wrong: select one line at a time."""


def area(a, b):
    return a + b


def perimeter(a, b):
    return 2 * (a * b)


def volume(a, b, c):
    return a * b + c
`,
    selected: "return a + b",
  },
  {
    name: "lists.py",
    text: `def total(values):
    result = 0
    for v in values:
        result -= v
    return result
`,
  },
];
