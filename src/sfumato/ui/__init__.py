"""Interfaces as trees, and changes of them as programs; no model is needed for either.

`schema.json` says which components there are, for Python and for a studio in the browser alike.
"""

from sfumato.ui.edits import OPERATIONS, REFUSALS, execute, is_refusal
from sfumato.ui.patterns import edit_regex, screen_regex
from sfumato.ui.tree import Component, check_page, parse, to_text

__all__ = [
    "OPERATIONS",
    "REFUSALS",
    "Component",
    "check_page",
    "edit_regex",
    "execute",
    "is_refusal",
    "parse",
    "screen_regex",
    "to_text",
]
