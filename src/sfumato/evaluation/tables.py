"""A report as tables and plots: report.md and report.html."""

from __future__ import annotations

import html
import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.evaluation.records import Record
from sfumato.evaluation.statistics import mcnemar, share_interval
from sfumato.storage import write_atomically

Row = dict[str, str]
NOTE = (
    "Scores are shares of correct answers, with 95% intervals (Wilson). Items that a system refused or failed to "
    "answer enter no score. Seconds are medians of items asked one at a time, including the network for an API; CPU "
    "seconds are of all threads; other programs on the machine lengthen them less."
)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One system on one task."""

    system: str
    task: str
    records: Sequence[Record]
    """Of the answered items."""
    refused: int = 0
    """Items that the system refused."""
    failed: int = 0
    """Items without an answer for other reasons."""

    @property
    def right(self) -> list[float]:
        return [float(record.right or False) for record in self.records]

    @property
    def score(self) -> float:
        return sum(self.right) / len(self.right)

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the score."""
        return share_interval(round(sum(self.right)), len(self.right))

    @property
    def median_s(self) -> float:
        return statistics.median(record.total_s for record in self.records)

    def usage(self, name: str) -> float | None:
        """Mean cost of an answer; None if the system does not report it."""
        values = [record.usage[name] for record in self.records if name in record.usage]
        return sum(values) / len(values) if values else None

    def row(self) -> Row:
        """As a row of the table."""
        row = {"task": self.task, "system": self.system, "n": str(len(self.records))}
        row |= {name: str(number) for name, number in (("refused", self.refused), ("failed", self.failed)) if number}
        if not self.records:
            return row
        low, high = self.interval
        row["right"] = f"{self.score:.1%}"
        row["95%"] = f"{low:.0%} to {high:.0%}"
        if cut := sum(record.finish_reason == "length" for record in self.records):
            row["cut"] = str(cut)
        if revised := [record for record in self.records if record.first_right is not None]:
            row["wrong→right"] = str(sum(not each.first_right and bool(each.right) for each in revised))
            row["right→wrong"] = str(sum(bool(each.first_right) and not each.right for each in revised))
        for heading, name in (
            ("steps", "denoising_steps"),
            ("forwards", "forward_passes"),
            ("positions", "positions_computed"),
            ("revisions", "revisions"),
        ):
            if (value := self.usage(name)) is not None:
                row[heading] = f"{value:.1f}" if value < 100 else f"{value:.0f}"
        firsts = [record.first_s for record in self.records if record.first_s is not None]
        if firsts:
            row["first s"] = _seconds(statistics.median(firsts))
        row["whole s"] = _seconds(self.median_s)
        row["p95 s"] = _seconds(float(np.quantile([record.total_s for record in self.records], 0.95)))
        if cpu_s := [record.usage["cpu_s"] for record in self.records if "cpu_s" in record.usage]:
            row["cpu s"] = _seconds(statistics.median(cpu_s))
        if (tokens := self.usage("completion_tokens")) is not None:
            mean_s = sum(record.total_s for record in self.records) / len(self.records)
            row["tokens/s"] = f"{tokens / mean_s:.0f}" if mean_s else "-"
        if (again := sum(record.attempts - 1 for record in self.records)) > 0:
            row["asked again"] = str(again)
        return row


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def cells_of(records: Sequence[Record], systems: Sequence[str], tasks: Sequence[str]) -> list[Cell]:
    """Records by task and system, in the suite's order; without unknown ones."""
    cells = []
    for task, system in itertools.product(tasks, systems):
        found = [record for record in records if (record.system, record.task) == (system, task)]
        answered = sorted((record for record in found if record.error is None), key=lambda record: record.index)
        if found:
            refused = sum(record.refused for record in found)
            failed = len(found) - len(answered) - refused
            cells.append(Cell(system=system, task=task, records=answered, refused=refused, failed=failed))
    return cells


def comparisons(cells: Sequence[Cell]) -> list[Row]:
    """For each task, every pair of systems on the items both have answered."""
    rows = []
    for one, other in itertools.combinations(cells, 2):
        if one.task != other.task:
            continue
        mine = {record.index: bool(record.right) for record in one.records}
        theirs = {record.index: bool(record.right) for record in other.records}
        both = mine.keys() & theirs.keys()
        if not both:
            continue
        only_mine = sum(mine[i] and not theirs[i] for i in both)
        only_theirs = sum(theirs[i] and not mine[i] for i in both)
        rows.append(
            {
                "task": one.task,
                "one": one.system,
                "other": other.system,
                "items": str(len(both)),
                "only one right": str(only_mine),
                "only the other right": str(only_theirs),
                "p": f"{mcnemar(only_mine, only_theirs):.2g}",
            }
        )
    return rows


_ORDER = ("task", "system", "n", "refused", "failed")


def headings_of(rows: Sequence[Row]) -> list[str]:
    """All headings of any row, in order."""
    # The fullest row knows the order best.
    found = dict.fromkeys(name for row in sorted(rows, key=len, reverse=True) for name in row)
    return [*(name for name in _ORDER if name in found), *(name for name in found if name not in _ORDER)]


def to_markdown(rows: Sequence[Row]) -> str:
    """A table."""
    headings = headings_of(rows)
    lines = [headings, ["---"] * len(headings), *([row.get(name, "") for name in headings] for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _to_html(rows: Sequence[Row]) -> str:
    headings = headings_of(rows)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(row.get(name, ''))}</td>" for name in headings) + "</tr>\n" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n'


def frontier_plot(cells: Sequence[Cell]) -> str | None:
    """For each task, score against median seconds per answer, as SVG; None without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator
    except ImportError:
        return None
    answered = [cell for cell in cells if cell.records]
    tasks = list(dict.fromkeys(cell.task for cell in answered))
    systems = list(dict.fromkeys(cell.system for cell in answered))
    if not tasks:
        return None
    columns = min(3, len(tasks))
    rows = -(-len(tasks) // columns)
    # Text stays text, and the same report gives the same bytes.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sfumato"}):
        figure = Figure(figsize=(4.2 * columns, 3.1 * rows + 0.5), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        shades, handles = matplotlib.colormaps["tab10"], dict[str, Any]()
        for axes, task in itertools.zip_longest(grid.flat, tasks):
            if task is None:
                axes.set_axis_off()
                continue
            for cell in answered:
                if cell.task == task:
                    low, high = cell.interval
                    number = systems.index(cell.system)
                    handles[cell.system] = axes.errorbar(
                        max(cell.median_s, 1e-4),
                        cell.score,
                        yerr=[[cell.score - low], [high - cell.score]],
                        fmt="os^Dvp*hX<"[number % 10],
                        color=shades(number % 10),
                        capsize=2,
                    )
            axes.set(title=_plain(task), xscale="log", ylim=(-0.04, 1.04), xlabel="seconds per answer", ylabel="right")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")
            axes.grid(alpha=0.3)
        figure.legend(handles.values(), map(_plain, handles), loc="outside lower center", ncols=4, fontsize="small")
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _plain(name: str) -> str:
    """A name as matplotlib shows it as it is: no mathematics, and not hidden for an underscore."""
    return f" {name}".replace("$", r"\$")


_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 90rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8884; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
.plot { background: white; border-radius: 8px; }
.plot svg { max-width: 100%; height: auto; }
"""


def write_tables(
    directory: Path, title: str, cells: Sequence[Cell], systems: Mapping[str, Mapping[str, Any]], *, left: int
) -> None:
    """Write report.md, report.html and, with matplotlib, frontier.svg."""
    about = [{"system": name} | {key: str(value) for key, value in facts.items()} for name, facts in systems.items()]
    parts = [("Cost of an answer", [cell.row() for cell in cells])]
    parts += [("Pairwise comparisons", comparisons(cells)), ("Systems", about)]
    note = NOTE + (f" {left} {'item is' if left == 1 else 'items are'} still to be asked." if left else "")
    markdown, page = f"# {title}\n\n{note}\n", f"<h1>{html.escape(title)}</h1>\n<p>{html.escape(note)}</p>\n"
    plot = frontier_plot(cells)
    if plot is not None:
        write_atomically(directory / "frontier.svg", plot.encode())
        markdown += "\n![score against seconds](frontier.svg)\n"
        page += f'<div class="plot">{plot[plot.index("<svg") :]}</div>\n'
    for heading, rows in parts:
        if rows:
            markdown += f"\n## {heading}\n\n{to_markdown(rows)}"
            page += f"<h2>{html.escape(heading)}</h2>\n{_to_html(rows)}"
    write_atomically(directory / "report.md", markdown.encode())
    whole = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}</style></head><body>\n{page}</body></html>\n"
    )
    write_atomically(directory / "report.html", whole.encode())
