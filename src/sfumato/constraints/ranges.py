"""Ranges of numbers as regular expressions over plain decimal notation.

A fraction is read as the nearest float. This is monotone: if the outermost texts of a range are read as values within
the bounds, so are all between them. Zero has no sign.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile

from sfumato.constraints.patterns import any_of

DIGITS = 15
"""Digits before the point, unless a bound needs more."""
PLACES = 6
"""Digits after the point, if the bounds leave anything between them at that."""
MAX_DIGITS = 40
"""Maximum digits before the point, whatever the bounds: a digit may take three nested groups."""
MAX_PLACES = 330
"""Maximum digits after the point, whatever the bounds: the first digit of the least positive float is the 324th."""


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number."""

    lower: Fraction | None = None
    """Minimum; None without one."""
    upper: Fraction | None = None
    """Maximum; None without one."""
    lower_open: bool = False
    """Whether the minimum is exclusive."""
    upper_open: bool = False
    """Whether the maximum is exclusive."""


def regex_of_integers(bounds: Bounds, step: int = 1) -> str | None:
    """The integers within bounds that are multiples of a step.

    Returns:
        A regex without alternatives at its top level; None if there are no such integers. Without bounds, integers have
        up to `DIGITS` digits.
    """
    lowest, highest = None, None
    if bounds.lower is not None:
        lowest = math.floor(bounds.lower) + 1 if bounds.lower_open else math.ceil(bounds.lower)
    if bounds.upper is not None:
        highest = math.ceil(bounds.upper) - 1 if bounds.upper_open else math.floor(bounds.upper)
    lowest, highest = _window(lowest, highest)
    limit = 10**MAX_DIGITS
    lowest, highest = -(-max(lowest, -limit) // step), min(highest, limit) // step
    zeros = str(step)[1:]
    if lowest > highest:
        return None
    signed = []
    if highest >= 1:
        signed.append(_natural(max(lowest, 1), highest) + zeros)
    if lowest <= 0 <= highest:
        signed.append("0")
    if lowest <= -1:
        signed.append("-" + _natural(max(-highest, 1), -lowest) + zeros)
    return any_of(signed)


def regex_of_numbers(bounds: Bounds) -> str | None:
    """The plain decimals within bounds: `PLACES` digits after the point, or as many as it takes to find any.

    Returns:
        A regex without alternatives at its top level; None if nothing is between the bounds. If they leave only numbers
        of more than `DIGITS` digits before the point, it matches only integers.
    """
    limit = Fraction(10**DIGITS)
    lower, upper = bounds.lower, bounds.upper
    if (lower is not None and lower >= limit) or (upper is not None and upper <= -limit):
        return regex_of_integers(bounds)
    if lower is not None and upper is not None and not _has_float(bounds):
        return None
    for places in range(PLACES, MAX_PLACES + 1):
        unit = 10**places
        lowest, highest = 1 - 10**DIGITS * unit, 10**DIGITS * unit - 1
        if lower is not None and lower > -limit:
            lowest = _first(lower, bounds.lower_open, places)
        if upper is not None and upper < limit:
            highest = -_first(-upper, bounds.upper_open, places)
        if lowest <= highest:
            return _signed_decimals(lowest, highest, places)
    return regex_of_integers(bounds)


def _has_float(bounds: Bounds) -> bool:
    """Whether some float lies within two given bounds."""
    assert bounds.lower is not None
    assert bounds.upper is not None
    near = float(max(bounds.lower, Fraction(-sys.float_info.max)))
    for value in (math.nextafter(near, -math.inf), near, math.nextafter(near, math.inf)):
        if math.isfinite(value) and (value > bounds.lower or (value == bounds.lower and not bounds.lower_open)):
            return value < bounds.upper or (value == bounds.upper and not bounds.upper_open)
    return False


def _window(lowest: int | None, highest: int | None) -> tuple[int, int]:
    """Both ends of a range of integers: those given, or up to `DIGITS` digits."""
    reach = 10**DIGITS - 1
    if lowest is None:
        lowest = -reach if highest is None or highest > -reach else 10 * highest
    if highest is None:
        highest = reach if lowest < reach else 10 * lowest
    return lowest, highest


def _first(bound: Fraction, is_open: bool, places: int) -> int:
    """The least k for which k / 10^places, as a float, is above a bound."""

    def above(k: int) -> bool:
        value = Fraction(float(f"{k}e-{places}"))
        return value > bound if is_open else value >= bound

    low: int = math.floor(bound * 10**places)
    reach = 1
    while above(low - reach):
        reach *= 2
    low, reach = low - reach, 1
    while not above(low + reach):
        reach *= 2
    high = low + reach
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return high


def _signed_decimals(lowest: int, highest: int, places: int) -> str:
    signed = []
    if highest >= 0:
        signed.append(_decimals(max(lowest, 0), highest, places))
    if lowest <= -1:
        signed.append("-" + _decimals(max(-highest, 1), -lowest, places))
    return any_of(signed)


def _decimals(lowest: int, highest: int, places: int) -> str:
    """Decimals from least to greatest, both >= 0 and in units of the last place."""
    unit = 10**places
    (low, low_rest), (high, high_rest) = divmod(lowest, unit), divmod(highest, unit)
    zeros, nines = "0" * places, "9" * places
    first, last = (f"{rest:0{places}d}" for rest in (low_rest, high_rest))
    if low == high:
        return str(low) + _point(first, last)
    parts = []
    if last != nines:
        parts.append(str(high) + _point(zeros, last))
        high -= 1
    least_whole = low if first == zeros else low + 1
    if least_whole <= high:
        parts.append(_natural(least_whole, high) + _point(zeros, nines))
    if first != zeros:
        parts.append(str(low) + _point(first, nines))
    return any_of(parts)


def _point(low: str, high: str) -> str:
    """A point and digits after it, or neither if that is at least ``low``."""
    regex = rf"\.{_nonempty(low, high)}"
    return f"(?:{regex})?" if not low.strip("0") else regex


def _nonempty(low: str, high: str) -> str:
    """One or more digits that, padded with zeros, lie between two digit strings of maximum length."""
    # There may be hundreds: recursion would use up Python's stack limit.
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(low.rstrip("0")[:-1], high, strict=False)))
    given, low, high = low[:shared], low[shared:], high[shared:]
    rest = len(low) - 1

    def tail(first: str, last: str) -> str:
        if not rest:
            return ""
        regex = _nonempty(first, last)
        return f"(?:{regex})?" if not first.strip("0") else regex

    return given + _by_first_digit(low, high, tail, f"[0-9]{{0,{rest}}}" if rest else "")


def _natural(low: int, high: int) -> str:
    """Integers from low to high, both >= 0."""
    parts = []
    lowest = max(low, 1)
    full = [digits for digits in range(len(str(lowest)), len(str(high)) + 1) if lowest <= 10 ** (digits - 1)]
    if full and high < 10 ** full[-1] - 1:
        last = full.pop()
        if high >= 10 ** (last - 1):
            parts.append(_same_length("1" + "0" * (last - 1), str(high)))
    if full:
        count = f"{{{full[0] - 1},{full[-1] - 1}}}" if full[0] < full[-1] else f"{{{full[0] - 1}}}"
        parts.append("[1-9]" + (f"[0-9]{count}" if full[-1] > 1 else ""))
    if lowest > 10 ** (len(str(lowest)) - 1):
        parts.append(_same_length(str(lowest), str(min(high, 10 ** len(str(lowest)) - 1))))
    return any_of([*parts, "0"] if low == 0 else parts)


def _same_length(low: str, high: str) -> str:
    """Digit strings from low to high, all of the same length."""
    if not low:
        return ""
    return _by_first_digit(low, high, _same_length, f"[0-9]{{{len(low) - 1}}}" if len(low) > 1 else "")


def _by_first_digit(low: str, high: str, tail: Callable[[str, str], str], anything: str) -> str:
    """Texts between two digit strings of the same length.

    Args:
        tail: regex of what may follow a first digit, given its range.
        anything: regex of what follows if everything may.
    """
    zeros, nines = "0" * (len(low) - 1), "9" * (len(low) - 1)
    first, last = int(low[0]), int(high[0])
    if first == last:
        return low[0] + tail(low[1:], high[1:])
    parts = []
    if low[1:] != zeros:
        parts.append(low[0] + tail(low[1:], nines))
        first += 1
    if high[1:] != nines:
        parts.append(high[0] + tail(zeros, high[1:]))
        last -= 1
    if first <= last:
        parts.append((f"[{first}-{last}]" if first < last else str(first)) + anything)
    return any_of(parts)
