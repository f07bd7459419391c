"""What Python says of a text: whether it parses, where it does not, and what it means."""

from __future__ import annotations

import ast
import warnings


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


def meaning(source: str) -> str | None:
    """What a text means to Python, layout and comments aside; None if it does not parse."""
    tree = parse(source)
    return None if isinstance(tree, SyntaxError) else ast.dump(tree)
