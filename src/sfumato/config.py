"""Reads JSON objects, and TOML recipes into frozen dataclasses; checks numbers.

Each table becomes one dataclass, which validates its own ranges. This module checks names and types, so a misspelt key
is an error that suggests the nearest one, not a setting silently left at its default.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import json
import math
import os
import re
import sys
import tomllib
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sfumato.errors import CheckpointError, ConfigError, RequestError, SfumatoError, unknown

Config = TypeVar("Config")
_KINDS = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a string", tuple: "a list", dict: "a table",
}  # fmt: skip


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        CheckpointError: if it is missing, or not a JSON object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds a {type(value).__name__}; allowed: an object")
    return value


def load_recipe(
    cls: type[Config], recipe: Path | Mapping[str, object], overrides: Sequence[str] | Mapping[str, object] = ()
) -> Config:
    """Read a TOML file into `cls`.

    Args:
        cls: a dataclass; nested tables are nested dataclasses.
        recipe: a file, which may extend another one (`extends = "other.toml"`, beside it), or its tables.
        overrides: `table.key=value` settings with values in TOML syntax (a bare word is a string), or values by dotted
            key; a key with dots of its own is quoted: `data.files."a.jsonl"=1`.

    Raises:
        ConfigError: if the file cannot be read or is not TOML, or a key or value is not allowed.
    """
    table = copy.deepcopy(dict(recipe)) if isinstance(recipe, Mapping) else _read_table(recipe)
    if isinstance(overrides, str):
        raise ConfigError(f"overrides is {overrides!r}; allowed: a list of them")
    for override in overrides:
        if isinstance(overrides, Mapping):
            _put(table, override, overrides[override])
        else:
            _apply(table, override)
    return from_table(cls, table)


def check_range(owner: object, names: str, low: float, high: float | None = None, *, above: bool = False) -> None:
    """`check_number` for fields of a config, given by their names, separated by spaces.

    Raises:
        ConfigError: with the field, its value and the range.
    """
    for name in names.split():
        check_number(name, getattr(owner, name), low, high, above=above, error=ConfigError)


def check_number(
    name: str,
    value: object,
    low: float,
    high: float | None = None,
    *,
    above: bool = False,
    whole: bool = False,
    error: type[SfumatoError] = RequestError,
) -> None:
    """Check that a value is a number within a range.

    Args:
        low, high: the range, inclusive; without `high`, any finite number.
        above: exclude `low`.
        whole: only whole numbers.

    Raises:
        error: with the name, the value and the range.
    """
    if isinstance(value, int if whole else int | float) and not isinstance(value, bool):
        limit = sys.float_info.max if high is None else high
        if (low < value if above else low <= value) and value <= limit:
            return
    first, last = (
        str(end) if isinstance(end, int) else f"{end:g}" for end in (low, math.inf if high is None else high)
    )
    if above:
        allowed = f"more than {first}" if last == "inf" else f"more than {first}, at most {last}"
    else:
        allowed = f"{first} or more" if last == "inf" else f"{first} to {last}"
    raise error(f"{name} is {value!r}; allowed: {'a whole number, ' if whole else ''}{allowed}")


def check_choice(kind: str, given: object, allowed: Collection[str], error: type[SfumatoError] = RequestError) -> None:
    """Refuse a name that is not among the allowed ones.

    Raises:
        error: see `unknown`.
    """
    if given not in allowed:
        raise error(unknown(kind, str(given), allowed))


def _read_table(path: Path, extending: tuple[Path, ...] = ()) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(
            f"there is no file {path}; allowed: the path of a TOML file, such as recipes/tiny.toml"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}") from None
    if "extends" not in table:
        return table
    extended, extending = table.pop("extends"), (*extending, path.resolve())
    if not isinstance(extended, str) or (path.parent / extended).resolve() in extending:
        raise ConfigError(f"extends is {extended!r} in {path}; allowed: the path, from there, of another recipe")
    return _merge(_read_table(path.parent / extended, extending), table)


def _merge(table: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A table with the values of another one, key by key also in nested tables."""
    for key, value in other.items():
        nested = isinstance(value, dict) and isinstance(table.get(key), dict)
        table[key] = _merge(table[key], value) if nested else value
    return table


def import_class(name: str, base: type[Config], error: type[SfumatoError]) -> type[Config]:
    """The subclass of `base` that "package.module:Class" names; the module may also be in the working directory.

    Raises:
        error: if it cannot be imported, or is no such class.
    """
    module, _, attribute = name.partition(":")
    what = base.__name__.lower()
    if (here := os.getcwd()) not in sys.path:
        # A program that is installed does not look there by itself. Last, so that nothing is hidden.
        sys.path.append(here)
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except Exception as problem:
        # Whatever a module raises; `sfumato -v` shows where.
        raise error(f"{what} {name!r} cannot be imported: {type(problem).__name__}: {problem}") from problem
    if not (isinstance(found, type) and issubclass(found, base)):
        raise error(f"{what} {name!r} is not a subclass of {base.__name__}")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise error(f"{what} {name!r} has no {missing[0]}; allowed: a class that defines {', '.join(missing)}")
    return found


def from_table(cls: type[Config], table: dict[str, Any], where: str = "") -> Config:
    """Build the dataclass `cls` from plain values.

    Args:
        where: dotted path of the table, for error messages.

    Raises:
        ConfigError: for an unknown or missing key, or a value of the wrong type.
    """
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in fields:
            raise ConfigError(unknown("key", f"{where}{key}", [where + name for name in fields]))
        values[key] = _convert(hints[key], value, f"{where}{key}")
    for name, field in fields.items():
        absent = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if name not in values and absent:
            raise ConfigError(f"{where}{name} is missing; it has no default")
    try:
        return cls(**values)
    except ConfigError as error:
        # A table checks its own fields, and does not know where it stands.
        is_named = str(error).split(" ", 1)[0] in fields
        raise ConfigError(f"{where}{error}" if is_named else str(error)) from None


def _convert(hint: Any, value: Any, name: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _convert(next(kind for kind in arguments if kind is not type(None)), value, name)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, dict):
            return from_table(hint, value, f"{name}.")
    elif origin is typing.Literal:
        if value in arguments:
            return value
        raise ConfigError(unknown(f"value of {name}", str(value), [str(choice) for choice in arguments]))
    elif origin is tuple:
        if isinstance(value, (list, tuple)):
            return tuple(_convert(arguments[0], item, f"{name}[{i}]") for i, item in enumerate(value))
    elif origin is dict:
        if isinstance(value, dict):
            return {key: _convert(arguments[1], item, f"{name}.{key}") for key, item in value.items()}
    elif hint is float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    elif isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    allowed = "a table" if dataclasses.is_dataclass(hint) else _KINDS[origin or hint]
    raise ConfigError(f"{name} is {value!r}; allowed: {allowed}")


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Parse `key=value` settings into a table, with values in TOML syntax (a bare word is a string).

    Raises:
        ConfigError: if an entry has no "=".
    """
    table: dict[str, Any] = {}
    for setting in settings:
        _apply(table, setting)
    return table


def changes(before: Mapping[str, Any], now: Mapping[str, Any], free: tuple[str, ...] = ()) -> list[str]:
    """The differences between two tables, as "key was value and is value", with dotted nested keys.

    Args:
        before, now: plain values, as from JSON.
        free: keys, or key prefixes, that may differ.
    """
    before, now = _flat(before), _flat(now)
    return [
        f"{key} was {before.get(key)!r} and is {now.get(key)!r}"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key) and not key.startswith(free)
    ]


def _flat(table: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """Flatten nested tables to dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{within}{key}.") if isinstance(value, dict) else {within + key: value}
    return flat


_KEYS = re.compile(r'"([^"]*)"|([^."]+)')


def _apply(table: dict[str, Any], override: str) -> None:
    path, separator, text = override.partition("=")
    if not separator:
        raise ConfigError(f"override {override!r} has no '='; write key=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    _put(table, path.strip(), value)


def _put(table: dict[str, Any], path: str, value: Any) -> None:
    # Quotes hold a key with dots together, as in TOML.
    *parents, key = [quoted or bare for quoted, bare in _KEYS.findall(path)] or [path]
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise ConfigError(f"override of {path}: {parent} is not a table")
    table[key] = value
