# Purpose: makes answers of at most MAX_CHARACTERS, with the offset of the next rows.
"""Small answers: the first rows, how many there are, and where the next ones begin."""
from __future__ import annotations

import json
from typing import Any

MAX_CHARACTERS = 6000  # of an answer as JSON
MAX_TEXT = 400  # of one text
MAX_LIST = 8  # entries of a list inside a row

Answer = dict[str, Any]


def small(value: Any) -> Any:
    """Returns `value` with long texts and lists cut. The cut is marked."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + f"... ({len(value)} characters)"
    if isinstance(value, dict):
        return {small(key): small(one) for key, one in value.items()}
    if isinstance(value, list):
        kept = [small(one) for one in value[:MAX_LIST]]
        return kept if len(value) <= MAX_LIST else [*kept, f"... ({len(value)} entries)"]
    return value


def size_of(value: Any) -> int:
    """Returns the characters of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def _small_head(head: Answer) -> Answer:
    out: Answer = small(head)
    while size_of(out) > MAX_CHARACTERS // 3:  # a program may have very long arguments
        _cut_largest(out)
    return out


def _cut_largest(part: Answer) -> None:
    """Replaces the largest value in `part`, or in the parts of it, by its size."""
    largest = max(part, key=lambda key: size_of(part[key]))
    value = part[largest]
    if isinstance(value, dict) and size_of(value) > MAX_TEXT:
        _cut_largest(value)
    else:
        part[largest] = f"... ({size_of(value)} characters)"


def page(head: Answer, rows: list[Any], offset: int) -> Answer:
    """Returns `head` with as many rows from `offset` as fit, and `next_offset` if there are more."""
    out: Answer = {**_small_head(head), "total_rows": len(rows), "rows": [], "next_offset": None}
    start = max(offset, 0)
    used = size_of(out)
    for position, row in enumerate(rows[start:], start):
        one = small(row)
        used += size_of(one) + 2
        if used > MAX_CHARACTERS - 20:
            if out["rows"]:
                out["next_offset"] = position
                break
            one = {"too_large": f"this row has {size_of(one)} characters; read it with the command memtrace"}
        out["rows"].append(one)
    return out
