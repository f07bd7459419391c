"""The parity matrix: how many tests of each aspect passed, per checkpoint family."""

from __future__ import annotations

import pytest

FAMILIES = {
    "llada": "LLaDA",
    "dream": "Dream",
    "sdar": "SDAR",
    "sdar-moe": "SDAR-MoE",
    "llada2": "LLaDA2",
    "llama": "Llama",
    "llama 3": "Llama",
    "mistral": "Mistral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "qwen3-moe": "Qwen3-MoE",
}
"""Keyed by the start of a test case's name."""
ASPECTS = ("logits", "loop", "save/load", "int8")


def mark_cells(items: list[pytest.Item]) -> None:
    """Mark every test's report with its cells of the matrix."""
    for item in items:
        for marker in item.iter_markers("parity"):
            aspect, *family = marker.args
            case = getattr(item, "callspec", None)
            name = family[0] if family else FAMILIES[case.params["case"].split(",")[0]]  # type: ignore[union-attr]
            item.user_properties.append(("parity", (name, aspect)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the matrix: how many tests of each aspect passed, per family."""
    cells: dict[tuple[str, str], list[bool]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, cell in getattr(report, "user_properties", []):
                if name == "parity":
                    cells.setdefault(cell, []).append(outcome == "passed")
    if not cells:
        return
    families = ["DiffusionGemma", *dict.fromkeys(FAMILIES.values()), "SmolLM2 GGUF"]
    terminalreporter.section("parity")
    terminalreporter.write_line(f"{'':16}" + "".join(f"{aspect:>12}" for aspect in ASPECTS))
    for family in families:
        row = [cells.get((family, aspect), []) for aspect in ASPECTS]
        shown = ["-" if not each else f"{sum(each)}/{len(each)}" for each in row]
        terminalreporter.write_line(f"{family:16}" + "".join(f"{cell:>12}" for cell in shown))
