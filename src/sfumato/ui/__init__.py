"""User interfaces as trees, and edits of them as programs. No model is needed for either.

`schema.json` defines the components, for Python and for the studio in the browser.
"""

from sfumato.ui.edits import OPERATIONS, REFUSALS, execute, is_refusal
from sfumato.ui.tree import Component, check_page, parse, to_text

__all__ = ["OPERATIONS", "REFUSALS", "Component", "check_page", "execute", "is_refusal", "parse", "to_text"]
