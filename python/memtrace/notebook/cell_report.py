# Purpose: shows the figures of a cell: text for terminals, HTML for notebooks.
# Imported by cells.py.
"""What %%memtrace displays. Texts of the program are escaped."""
from __future__ import annotations

import html
from typing import Optional

from ..display import Page
from .figures import CellFigures, Line

_MIB = 1 << 20
_MOST = 8  # rows of a table
_LEAST = 1 << 16  # bytes that a table or a sentence is for


def _mib(value: int) -> str:
    text = f"{value / _MIB:,.2f}"
    return "0.00" if text == "-0.00" else text


class Unrecorded:
    """There are no figures. The text says why, and what to do."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f'<div class="memtrace"><p><b>{html.escape(self._text)}</b></p></div>'


def _first_rows(lines: list[Line]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [(_mib(line.bytes), line.line, "" if line.role == "unknown" else line.role, line.held_by)
            for line in lines[:_MOST]]
    rest = lines[_MOST:]
    return rows + ([(_mib(sum(line.bytes for line in rest)), f"{len(rest)} more lines", "", "")] if rest else [])


class CellReport:
    """The figures of a cell, and the page of the report if it was asked for."""

    def __init__(self, figures: CellFigures, page: Optional[Page] = None) -> None:
        self.figures = figures
        self.page = page

    def _tables(self) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
        """Returns each table: title, head, rows."""
        figures = self.figures
        levels = [(one.name, *map(_mib, (one.before, one.highest, one.after, one.kept, one.temporary)))
                  for one in figures.levels]
        kept = _first_rows(figures.kept)
        kept.append((_mib(figures.kept_elsewhere), "libraries, small blocks", "", ""))
        tables: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]] = [
            (f"memtrace: {figures.name}, MiB", ("", "before", "highest", "after", "kept", "temporary"), levels),
            ("Kept by the cell, MiB", ("kept", "line", "role", "held by"), kept)]
        if figures.temporary and figures.levels[0].temporary >= _LEAST:
            temporary = [row[:3] for row in _first_rows(figures.temporary)]
            tables.append(("At the highest point and not after, MiB", ("bytes", "line", "role"), temporary))
        if figures.variables:
            variables: list[tuple[str, ...]] = [(_mib(size), name) for name, size in figures.variables[:_MOST]]
            tables.append(("Held by variables since this cell, MiB", ("bytes", "variable"), variables))
        return tables

    def _notes(self) -> list[str]:
        figures = self.figures
        notes = []
        if figures.highest_in:
            notes.append(f"The highest point is in {figures.highest_in}.")
        if figures.let_go >= _LEAST:
            notes.append(f"Variables no longer hold {_mib(figures.let_go)} MiB that they held before the cell.")
        if not figures.complete:
            notes.append("The variables hold too many objects to look at all of them, so some holders are missing.")
        elif figures.unheld >= _LEAST:
            notes.append(f"No variable holds {_mib(figures.unheld)} MiB of the tensors that the cell kept: "
                         f"{self._unheld_reason()}.")
        for finding in figures.findings:
            remedy = f" To change it: {finding.remedy}." if finding.remedy else ""
            notes.append(f"Finding {finding.id}: {finding.title}.{remedy}")
        return notes

    def _unheld_reason(self) -> str:
        if self.figures.graphs:
            name = self.figures.graphs[0]
            return f"the autograd graph of {name} may hold them, until del {name} or a backward pass"
        return "a library, a closure or a reference cycle holds them; import gc; gc.collect() frees cycles"

    def __repr__(self) -> str:
        parts = ["\n".join(_text_table(*table)) for table in self._tables()]
        return "\n\n".join(parts + (["\n".join(self._notes())] if self._notes() else []))

    def _repr_html_(self) -> str:
        tables = "".join(_html_table(*table) for table in self._tables())
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        frame = "" if self.page is None else self.page._repr_html_()
        return f'<div class="memtrace">{tables}{notes}{frame}</div>'


def _is_figure(text: str) -> bool:
    return text.replace(",", "").replace(".", "").lstrip("-").isdigit()


def _text_table(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    right = [any(_is_figure(row[column]) for row in rows) for column in range(len(head))]
    lines = [title]
    for row in (head, *rows):
        cells = [text.rjust(width) if figure else text.ljust(width) for text, width, figure in zip(row, widths, right)]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def _html_table(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    first = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(title)}</caption><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table>"
