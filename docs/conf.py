"""How `make docs` builds the site. Without a network: no intersphinx, no fonts from elsewhere."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

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


def write_commands(app: Any) -> None:
    """Write the page of the command line from the commands themselves."""
    import typer

    from sfumato.cli.app import app as commands

    group = typer.main.get_command(commands)
    lines = ["# Command line", "", "The output of `--help`, command by command.", ""]
    _describe(group, "sfumato", lines)
    page = HERE / "reference" / "cli.md"
    text = "\n".join(lines)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


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
    app.connect("builder-inited", write_commands)
