"""Python's own parser of regular expressions, and what is refused of what it reads."""

from __future__ import annotations

import re
import warnings
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

REFUSED = {
    sre.ASSERT: ("a lookahead or lookbehind", r"\(\?<?="),
    sre.ASSERT_NOT: ("a negative lookahead or lookbehind", r"\(\?<?!"),
    sre.GROUPREF: ("a backreference", r"\\[1-9]|\(\?P="),
    sre.GROUPREF_EXISTS: ("a conditional group", r"\(\?\("),
    sre.ATOMIC_GROUP: ("an atomic group", r"\(\?>"),
    sre.POSSESSIVE_REPEAT: ("a possessive quantifier", r"[*+?}]\+"),
    sre.AT: ("a word boundary", r"\\[bB]"),
}
"""What no regular expression has, or none here: what it is called, and how it is written."""
BEGINNINGS = (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
ENDS = (sre.AT_END, sre.AT_END_STRING)
ALLOWED = "characters, classes, groups, alternatives, quantifiers, flags, and ^ and $ at the ends"


def parse(pattern: str) -> Any:
    """What Python's parser makes of an expression.

    Raises:
        re.error: if it is none.
    """
    try:
        with warnings.catch_warnings():
            # Python foresees another meaning of some patterns; it is today's that counts.
            warnings.simplefilter("ignore", FutureWarning)
            return sre_parser.parse(pattern)
    except RecursionError:
        raise re.error("groups nest too deep") from None
    except OverflowError as error:
        raise re.error(str(error)) from None


def find_refused(pattern: str, operator: Any) -> int:
    """Where in a pattern something stands that is refused."""
    _, written = REFUSED[operator]
    # Whatever is escaped or within a class is passed over.
    for found in re.finditer(rf"(?P<it>{written})|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", pattern, re.DOTALL):
        if found["it"]:
            return found.start()
    return 0
