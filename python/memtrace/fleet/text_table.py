# Purpose: writes the rows of a query as a table of text that is at most 100 columns wide.
"""Tables of text."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

WIDTH = 100
LEAST_TEXT = 10
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
SUFFIXES = ("_bytes", "_percent")


def _bytes(value: float) -> str:
    size, unit = abs(value), 0
    while size >= 1024 and unit + 1 < len(UNITS):
        size, unit = size / 1024, unit + 1
    digits = 0 if not unit else 1 if size >= 100 else 2
    return f"{'-' if value < 0 else ''}{size:.{digits}f} {UNITS[unit]}"


def _cell(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if column.endswith("_bytes") and isinstance(value, (int, float)):
        return _bytes(value)
    if column.endswith("_percent"):
        return f"{value:.1f} %"
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 1 or value == 0 else f"{value:.3g}"
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))


def _title(column: str) -> list[str]:
    """Returns the words above the column, in at most two lines."""
    for suffix in SUFFIXES:
        column = column[:-len(suffix)] if column.endswith(suffix) else column
    words = column.replace("gib_hours", "GiB-hours").split("_")
    if len(words) == 1:
        return ["", words[0]]
    cuts: list[tuple[str, str]] = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    first, second = min(cuts, key=lambda cut: max(len(cut[0]), len(cut[1])))
    return [first, second]


def _shorten(text: str, width: int) -> str:
    """A line of source keeps its end, which has the number."""
    if len(text) <= width:
        return text
    return "…" + text[len(text) - width + 1:]


def _fit(widths: list[int], is_text: list[bool]) -> Optional[list[int]]:
    """Returns the widths that fit, or None. The widest text becomes narrower."""
    widths = list(widths)
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        text = [at for at, one in enumerate(is_text) if one and widths[at] > LEAST_TEXT]
        if not text:
            return None
        widths[max(text, key=lambda at: widths[at])] -= 1
    return widths


def _as_list(columns: list[str], rows: list[list[str]]) -> list[str]:
    """Writes each row as lines, because the table is too wide."""
    wide = max(len(column) for column in columns)
    lines = []
    for row in rows:
        lines += [_shorten(f"{column:<{wide}}  {value}", WIDTH) for column, value in zip(columns, row)] + [""]
    return lines[:-1]


def _kept(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[int]]:
    """Returns the jobs that all rows have, and the columns that are shown."""
    head, kept = [], []
    for at, column in enumerate(columns):
        values = {row[at] for row in rows}
        if column.split("_")[-1] == "job" and len(values) == 1:
            value = values.pop()
            head += [f"{column.replace('_', ' ')} {_cell(column, value)}"] if value else []
        elif values != {None}:
            kept.append(at)
    return head, kept


def _as_table(names: list[str], cells: list[list[str]], is_text: list[bool]) -> list[str]:
    titles = [_title(name) for name in names]
    widths = _fit([max(map(len, (*title, *column))) for title, column in zip(titles, zip(*cells))], is_text)
    if widths is None:
        return _as_list(names, cells)
    lines = []
    for row in [*(line for line in zip(*titles) if any(line)), *cells]:
        parts = [_shorten(part, width) for part, width in zip(row, widths)]
        lines.append("  ".join(part.ljust(width) if text else part.rjust(width)
                               for part, width, text in zip(parts, widths, is_text)).rstrip())
    return lines


def text_table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], most: int) -> list[str]:
    """Returns lines. A job that all rows have is named once, and a column without values is left out."""
    head, kept = _kept(columns, rows)
    lines = [_shorten(", ".join(head), WIDTH), ""] if head else []
    if not kept:
        return lines[:1]
    lines += _as_table([columns[at] for at in kept],
                       [[_cell(columns[at], row[at]) for at in kept] for row in rows[:most]],
                       [any(isinstance(row[at], str) for row in rows) for at in kept])
    if len(rows) > most:
        lines.append(f"and {len(rows) - most} more rows: --rows {len(rows)}, or --format csv")
    return lines
