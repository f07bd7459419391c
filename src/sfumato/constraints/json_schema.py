"""JSON Schema to languages: every text is valid JSON for the schema.

Objects have their properties in any order, and additional ones where the schema allows them; if that takes too many
states, only named ones, or in the schema's order. Values of a schema that refers to itself are nested up to some depth.
What cannot be guaranteed is refused.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any, get_args

from sfumato.config import check_choice
from sfumato.constraints.dfa import NESTED_STATES, PART_CHECKS, Budget, Language
from sfumato.constraints.json_compiler import ANY_ORDER_STATES, Order, SchemaCompiler
from sfumato.constraints.json_parts import Part
from sfumato.constraints.regex import Unordered, from_regex
from sfumato.errors import RequestError

MAX_DEPTH, MIN_DEPTH = 5, 2
"""How many values of a schema that refers to itself may be within one another: as many as fit, and at least these."""


def language_of_schema(
    schema: Mapping[str, Any] | bool, budget: Budget | None = None, order: Order = "any"
) -> Language:
    """A language of JSON texts that all satisfy a schema.

    Args:
        schema: of draft 2020-12.

    Returns:
        Values as `json.dumps` writes them with ``ensure_ascii=False``.

    Raises:
        RequestError: if the schema is invalid, unsatisfiable, not guaranteeable, or takes too much.
    """
    budget = budget or Budget()
    *attempts, last = dict.fromkeys(((order, MAX_DEPTH), ("schema", MAX_DEPTH), ("schema", MIN_DEPTH)))
    for attempt in attempts:
        regex, unordered, depth = read_schema(schema, budget, *attempt)
        if not unordered and depth in (None, MIN_DEPTH):
            return from_regex(regex, budget)
        if unordered and depth is not None and depth < MAX_DEPTH:
            # Rather deeper than in any order.
            continue
        try:
            return from_regex(regex, budget.part(ANY_ORDER_STATES, PART_CHECKS), unordered)
        except RequestError:
            if budget.seconds_left == 0:
                # A faster machine might have had the time.
                raise
    return from_regex(read_schema(schema, budget, *last)[0], budget)


def read_schema(
    schema: Mapping[str, Any] | bool, budget: Budget, order: Order, max_depth: int = MAX_DEPTH
) -> tuple[str, list[Unordered], int | None]:
    """The regex of a schema in Python's syntax, for whole texts; the meaning of its placeholders, of which there are
    none in the schema's order; and how many values of a schema that refers to itself may be within one another, None if
    none does."""
    try:
        import jsonschema
    except ImportError as error:
        raise RequestError(
            "a schema needs jsonschema, which is not installed: pip install 'sfumato[schema]'"
        ) from error
    check_choice("order", order, get_args(Order))
    if not isinstance(schema, (Mapping, bool)):
        raise RequestError(f"a schema is an object or a boolean; got {type(schema).__name__}")
    try:
        plain = json.loads(json.dumps(schema if isinstance(schema, bool) else dict(schema), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestError(f"the schema is not JSON: {error}") from error
    try:
        with warnings.catch_warnings():
            # Python plans to change the meaning of some patterns; today's counts.
            warnings.simplefilter("ignore", FutureWarning)
            found: tuple[str, list[Unordered], int | None] | None = None
            for depth in range(MIN_DEPTH, max_depth + 1):
                compiler = SchemaCompiler(plain, jsonschema, budget, order, depth)
                try:
                    regex = compiler.compile([Part(plain, "#")], "#")
                except (RequestError, RecursionError):
                    if found is None:
                        raise
                    break
                if found and compiler.size(regex) > NESTED_STATES:
                    break
                found = regex, compiler.unordered, depth if compiler.is_cut else None
                if not compiler.is_cut:
                    break
            assert found
            return found
    except RecursionError as error:
        raise RequestError("the schema is nested too deeply, or refers to itself without end") from error
