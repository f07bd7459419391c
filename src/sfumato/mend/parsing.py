"""What Python says of a text: whether it parses, where it does not, and what it means."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from sfumato.mend.faults import Bindings, Traits, read_traits, without_annotations


def parse(source: str) -> ast.Module | SyntaxError:
    """The syntax tree of a text, or the error at which Python gives up."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or type(error).__name__)


def error_line(source: str) -> int | None:
    """Line, from 1, at which Python gives up; None if the text parses."""
    error = parse(source)
    return (error.lineno or 1) if isinstance(error, SyntaxError) else None


@dataclass(frozen=True)
class Meaning:
    """What a text is to Python."""

    text: str
    """The same for texts that do the same: layout, comments and annotations of parameters are left out."""
    traits: Traits | None = None
    """What speaks against it; None if nothing can."""

    def is_worse_than(self, before: Meaning | None) -> bool:
        """Whether an edit that led here from another text is no repair, whatever it was to repair."""
        if self.traits is None or before is None or before.traits is None:
            return False
        return self.traits.is_worse_than(before.traits)


def read_meaning(source: str) -> Meaning | None:
    """What a text means; None if it does not parse."""
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return None
    bindings = Bindings(tree)
    traits = read_traits(source, tree, bindings)
    return Meaning(ast.dump(without_annotations(tree, bindings)), traits)
