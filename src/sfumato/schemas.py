"""What may be given as a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, cast

from sfumato.errors import RequestError


class HasJsonSchema(Protocol):
    """An object that knows its schema, such as pydantic's ``TypeAdapter``."""

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema."""


Schema = Mapping[str, object] | bool | str | type | HasJsonSchema
"""A JSON Schema as an object or JSON text; a pydantic model or ``TypeAdapter``; or another type that pydantic knows,
such as a dataclass or ``list[int]``."""


def schema_of(given: Schema) -> Any:
    """A schema as an object of JSON.

    Raises:
        RequestError: if it is none.
    """
    if (of_model := getattr(given, "model_json_schema", None)) is not None:
        return of_model()
    if (of_adapter := getattr(given, "json_schema", None)) is not None:
        return of_adapter()
    if isinstance(given, str):
        try:
            return json.loads(given)
        except ValueError as error:
            raise RequestError(f"the schema {given!r:.100} is not JSON: {error}") from None
    if isinstance(given, Mapping | bool):
        return given
    allowed = "an object or text with a JSON Schema, a pydantic model, or a type that pydantic knows"
    try:
        from pydantic import TypeAdapter

        return TypeAdapter(cast(Any, given)).json_schema()
    except (ImportError, TypeError, ValueError, RuntimeError) as error:
        raise RequestError(f"schema is {given!r:.100}; allowed: {allowed} ({type(error).__name__})") from None
