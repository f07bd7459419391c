/** Expressions worked out exactly, and new ones drawn as the task "arithmetic" draws them. */

/** A fraction in lowest terms; the denominator is positive. */
export interface Rational {
  readonly top: bigint;
  readonly bottom: bigint;
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b);
}

export function rational(top: bigint, bottom = 1n): Rational {
  if (bottom === 0n) throw new RangeError("a division by 0");
  const shared = gcd(top, bottom) * (bottom < 0n ? -1n : 1n);
  return { top: top / shared, bottom: bottom / shared };
}

/** "39" or "3/4". */
export function show({ top, bottom }: Rational): string {
  return bottom === 1n ? String(top) : `${top}/${bottom}`;
}

function wholeRoot(n: bigint): bigint {
  if (n < 0n) throw new RangeError(`the root of ${n} is no number`);
  // Newton's method, from above.
  let root = n;
  for (let next = (n + 1n) / 2n; next < root; next = (root + n / root) / 2n) root = next;
  if (root * root !== n) throw new RangeError(`the root of ${n} is no fraction`);
  return root;
}

function raise(base: Rational, exponent: Rational): Rational {
  // What is longer takes too long to write down.
  if (exponent.bottom !== 1n || exponent.top < 0n || exponent.top > 99n) {
    throw new RangeError(`the exponent is ${show(exponent)}; allowed: whole numbers from 0 to 99`);
  }
  return { top: base.top ** exponent.top, bottom: base.bottom ** exponent.top };
}

/**
 * The value of an expression of whole numbers, + - * / ^, sqrt() and parentheses.
 *
 * Throws SyntaxError if it is something else, and RangeError if its value is no fraction.
 */
export function evaluate(expression: string): Rational {
  const found: string[] = expression.match(/\d+|sqrt|\S/g) ?? [];
  let at = 0;
  const take = (...wanted: string[]) => (wanted.includes(found[at] ?? "") ? found[at++] : undefined);
  const expect = (wanted: string) => {
    if (take(wanted) === undefined) throw new SyntaxError(`"${wanted}" is missing in ${expression}`);
  };
  const sum = (): Rational => {
    let total = product();
    for (let sign = take("+", "-"); sign !== undefined; sign = take("+", "-")) {
      const next = product();
      const added = next.top * total.bottom * (sign === "+" ? 1n : -1n);
      total = rational(total.top * next.bottom + added, total.bottom * next.bottom);
    }
    return total;
  };
  const product = (): Rational => {
    let total = signed();
    for (let sign = take("*", "/"); sign !== undefined; sign = take("*", "/")) {
      const next = signed();
      total =
        sign === "*"
          ? rational(total.top * next.top, total.bottom * next.bottom)
          : rational(total.top * next.bottom, total.bottom * next.top);
    }
    return total;
  };
  const signed = (): Rational => {
    if (take("-") !== undefined) {
      const value = signed();
      return { ...value, top: -value.top };
    }
    const base = atom();
    return take("^") === undefined ? base : raise(base, signed());
  };
  const atom = (): Rational => {
    if (take("sqrt") !== undefined) {
      expect("(");
      const value = sum();
      expect(")");
      return { top: wholeRoot(value.top), bottom: wholeRoot(value.bottom) };
    }
    if (take("(") !== undefined) {
      const value = sum();
      expect(")");
      return value;
    }
    const digits = found[at++] ?? "its end";
    if (!/^\d+$/.test(digits)) throw new SyntaxError(`a number is missing before ${digits} in ${expression}`);
    return rational(BigInt(digits));
  };
  const value = sum();
  if (at < found.length) throw new SyntaxError(`"${found[at] ?? ""}" is too much in ${expression}`);
  return value;
}

/** A number from 0 to below 1. */
export type Random = () => number;

const whole = (random: Random, low: number, high: number) => low + Math.floor(random() * (high - low + 1));

function choose<T>(random: Random, options: readonly T[]): T {
  const chosen = options[Math.floor(random() * options.length)];
  if (chosen === undefined) throw new RangeError("there is nothing to choose from");
  return chosen;
}

type Term = readonly [text: string, value: number];

const FRACTIONS = [2, 3, 4, 5, 6, 7, 8, 9].flatMap((q) =>
  Array.from({ length: q - 1 }, (_, i) => [i + 1, q] as const).filter(
    ([p]) => gcd(BigInt(p), BigInt(q)) === 1n,
  ),
);

const TERMS: readonly ((random: Random) => Term)[] = [
  (random) => {
    const [p, q] = choose(random, FRACTIONS);
    const times = whole(random, 1, Math.floor(99 / (q * q)));
    return [`${times * q * q}*(${p}/${q})^2`, times * p * p];
  },
  (random) => {
    const n = whole(random, 1, 12);
    return [`sqrt(${n * n})`, n];
  },
  (random) => {
    const [a, b] = [whole(random, 2, 9), whole(random, 2, 9)];
    return [`${a}*${b}`, a * b];
  },
  (random) => {
    const n = whole(random, 2, 9);
    return [`${n}^2`, n * n];
  },
  (random) => {
    const b = whole(random, 2, 9);
    const value = whole(random, 1, Math.floor(99 / b));
    return [`${b * value}/${b}`, value];
  },
];

type Move = readonly [sign: string, term: Term, total: number];

function sums(random: Random, total: number): Move[] {
  const drawn = Array.from({ length: 8 }, (): Move => {
    const [sign, term] = [choose(random, ["+", "-"]), choose(random, TERMS)(random)];
    return [sign, term, sign === "+" ? total + term[1] : total - term[1]];
  });
  return drawn.filter(([, , after]) => after >= 10 && after <= 99);
}

function scales(total: number): Move[] {
  const numbers = [2, 3, 4, 5, 6, 7, 8, 9].map((n): Term => [String(n), n]);
  return [
    ...numbers.map((term): Move => ["*", term, total * term[1]]),
    ...numbers.map((term): Move => ["/", term, total / term[1]]),
  ].filter(([, , after]) => Number.isInteger(after) && after >= 10 && after <= 99);
}

/** What follows the first term, as often as the model learned it: "t" a term more or less, "s" a factor or divisor. */
const CHAINS = ["t", "ts", ...Array<string>(9).fill("tst"), ...Array<string>(9).fill("tsts")];

/** An expression as the models learned them: from the second term on its running totals have two digits. */
export function drawExpression(random: Random = Math.random): string {
  const chain = choose(random, CHAINS);
  for (;;) {
    let [expression, total] = choose(random, TERMS)(random);
    let before = "";
    let isWhole = true;
    for (const kind of chain) {
      const moves = kind === "t" ? sums(random, total) : scales(total);
      if (moves.length === 0) {
        isWhole = false;
        break;
      }
      const [sign, [text], after] = choose(random, moves);
      const isScale = sign === "*" || sign === "/";
      if (isScale && (before === "+" || before === "-")) expression = `(${expression})`;
      expression += sign + text;
      [total, before] = [after, sign];
    }
    if (isWhole) return expression;
  }
}
