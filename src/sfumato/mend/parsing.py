"""Parses Python text: its tree, its first error, and its meaning."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from sfumato.mend.faults import Bindings, Traits, read_traits, strip_annotations


def parse(source: str) -> ast.Module | SyntaxError:
    """The syntax tree of a text, or its syntax error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or type(error).__name__)


def error_line(source: str) -> int | None:
    """Line of the first syntax error, from 1; None if the text parses."""
    error = parse(source)
    return (error.lineno or 1) if isinstance(error, SyntaxError) else None


@dataclass(frozen=True)
class Meaning:
    """The meaning of a text for Python."""

    text: str
    """Equal for texts that do the same: ignores layout, comments and parameter annotations."""
    traits: Traits | None = None
    """Its traits; None if they cannot be computed."""

    def is_worse_than(self, before: Meaning | None) -> bool:
        """Whether an edit from another text to this one cannot be a repair."""
        if self.traits is None or before is None or before.traits is None:
            return False
        return self.traits.is_worse_than(before.traits)


def read_meaning(source: str) -> Meaning | None:
    """The meaning of a text; None if it does not parse."""
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return None
    bindings = Bindings(tree)
    traits = read_traits(source, tree, bindings)
    return Meaning(ast.dump(strip_annotations(tree, bindings)), traits)
