"""Code blocks of docs/guides/clients.md, which need a server and other packages, so tests/clients runs them."""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "guides" / "clients.md"


def documented(client: str, url: str = "http://localhost:8000") -> list[str]:
    """The blocks of a client's section, for a server at an address."""
    sections = re.split(r"^## (.+)\n", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = dict(zip(sections[1::2], sections[2::2], strict=True))[client]
    return [block.replace("http://localhost:8000", url) for block in re.findall(r"```\n(.*?)```", text, re.DOTALL)]
