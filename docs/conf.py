"""Sphinx configuration for `make docs`. Needs no network: no intersphinx, no remote fonts."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from sphinx.ext.napoleon.docstring import GoogleDocstring

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "Sfumato"
copyright = "the Sfumato authors"
release = version = version_of("sfumato")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_static_path = ["_static"]
html_title = f"Sfumato {release}"
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["bench"]
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
suppress_warnings = ["myst.header"]


def _write(name: str, lines: list[str]) -> None:
    """Write a generated page, unless it is unchanged, so that Sphinx need not read it again."""
    page, text = HERE / "reference" / name, "\n".join(lines)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def write_commands(app: Any) -> None:
    """Generate the command line page from the commands."""
    import typer

    from sfumato.cli.app import app as commands

    group = typer.main.get_command(commands)
    lines = ["# Command line", "", "The output of `--help`, command by command.", ""]
    _describe(group, "sfumato", lines)
    _write("cli.md", lines)


def write_endpoints(app: Any) -> None:
    """Generate the HTTP page from the OpenAPI document."""
    from sfumato.server.app import describe

    document = describe()
    lines = ["# HTTP", "", document["info"]["summary"], ""]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            said = " ".join(operation["description"].split())
            lines += [f"## {method.upper()} {path}", "", said, ""]
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            if "$ref" in body:
                name = body["$ref"].rpartition("/")[2]
                lines += [f"Body: [{name}](#{name.lower()}).", ""]
    lines += ["## Bodies", ""]
    for name, schema in document["components"]["schemas"].items():
        if "properties" not in schema:
            continue
        lines += [f"### {name}", "", " ".join(schema.get("description", "").split()), ""]
        required = schema.get("required", ())
        for field, kind in schema["properties"].items():
            told = " ".join(kind.get("description", "").split())
            words = [f"`{field}`", _kind(kind), "required" if field in required else "", told]
            lines.append(f"- {', '.join(filter(None, words))}")
        lines.append("")
    _write("http.md", lines)


def write_samplers(app: Any) -> None:
    """Generate the page of samplers from their classes."""
    from dataclasses import fields

    from sfumato.sampling.config import SamplerConfig
    from sfumato.sampling.samplers.base import samplers

    lines = ["# Samplers", "", "The built-in ones, chosen by `sampler` or `--sampler`. Their fields are settings:"]
    lines += ["arguments of `generate`, `--set NAME=VALUE`, or `settings` over HTTP.", ""]
    shared = [field.name for field in fields(SamplerConfig) if field.name != "sampler"]
    kinds = [*((name, kind, [each.name for each in fields(kind)]) for name, kind in sorted(samplers().items()))]
    for name, kind, members in [*kinds, ("Settings of all samplers", SamplerConfig, shared)]:
        lines += [f"## {name}", "", "```{eval-rst}", f".. autoclass:: {kind.__module__}.{kind.__qualname__}"]
        lines += ["   :no-index:", *([f"   :members: {', '.join(members)}"] if members else []), "```", ""]
    _write("samplers.md", lines)


def write_recipes(app: Any) -> None:
    """Generate the page of recipes' keys from their classes."""
    from sfumato.evaluation.suite import Suite
    from sfumato.training.heads import HeadsRecipe
    from sfumato.training.recipe import Recipe
    from sfumato.training.rl import RLRecipe

    lines = [
        "# Recipes",
        "",
        "The keys of the TOML files that `sfumato train`, `adapt`, `distil`, `heads`, `rl` and `report`",
    ]
    lines += ["read, table by table, with their defaults. `--set TABLE.KEY=VALUE` overrides a key of a recipe.", ""]
    for title, kind in (
        ("train, adapt and distil", Recipe),
        ("heads", HeadsRecipe),
        ("rl", RLRecipe),
        ("report", Suite),
    ):
        lines += [f"## {title}", ""]
        _tables(kind, "", lines)
    _write("recipes.md", lines)


def _tables(kind: Any, path: str, lines: list[str]) -> None:
    """List the keys of a dataclass, then those of each table in it."""
    from dataclasses import fields, is_dataclass

    hints, documents = get_type_hints(kind), _documents(kind)
    if path:
        lines += [f"### [{path}]", ""]
    summary = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
    lines += [summary, ""]
    tables = []
    for field in fields(kind):
        hint = hints[field.name]
        # A table, a table that may be left out, or tables by name.
        found = [(field.name, each) for each in (hint, *get_args(hint)) if is_dataclass(each)]
        tables += [(f"{name}.NAME" if get_origin(hint) is dict else name, table) for name, table in found]
        if not found:
            lines.append(f"- `{field.name}`{_default(field)}: {documents.get(field.name, '')}".rstrip(": "))
    lines.append("")
    for name, table in tables:
        _tables(table, f"{path}.{name}" if path else name, lines)


def _documents(kind: type) -> dict[str, str]:
    """The strings below the fields of a class and of those it inherits from."""
    from sphinx.pycode import ModuleAnalyzer

    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each.__module__.startswith("sfumato"):
            for (name, field), text in ModuleAnalyzer.for_module(each.__module__).find_attr_docs().items():
                if name == each.__name__:
                    found[field] = " ".join(" ".join(text).split())
    return found


def _default(field: Any) -> str:
    """What a field is where it is left out."""
    from dataclasses import MISSING

    if field.default is MISSING:
        return " (required)" if field.default_factory is MISSING else ""
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    return "" if value is None or value == [] else f" = `{json.dumps(value, default=str)}`"


def _kind(schema: dict[str, Any]) -> str:
    """A short description of the allowed values."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "any value" if name == "JsonValue" else f"[{name}](#{name.lower()})"
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"`{json.dumps(value)}`" for value in values)
    if several := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_kind(each) for each in several if each.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any value"))


def _describe(command: Any, path: str, lines: list[str]) -> None:
    children = getattr(command, "commands", None)
    summary = " ".join((command.help or "").replace("\\[", "[").split())
    if path != "sfumato":
        lines += [f"{'#' * (1 + path.count(' '))} {path}", "", summary, ""]
    if children:
        for name in sorted(children):
            _describe(children[name], f"{path} {name}", lines)
        return
    for param in command.params:
        names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
        said = " ".join((getattr(param, "help", None) or "").replace("\\[", "[").split())
        lines.append(f"- {names}: {said}" if said else f"- {names}")
    lines.append("")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    # Types are in annotations; a colon in what is said of an attribute names none.
    GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end  # type: ignore[method-assign]
    app.connect("builder-inited", write_commands)
    app.connect("builder-inited", write_endpoints)
    app.connect("builder-inited", write_samplers)
    app.connect("builder-inited", write_recipes)
