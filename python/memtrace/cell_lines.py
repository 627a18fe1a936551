# Purpose: names the lines of a notebook's cells in texts of the report, which has them by the files of ipykernel.
# Imported by display.py and the notebook's extension.
"""`ipykernel_812/40961.py:6` becomes `cell 4, line 6` in the kernel that ran the cell."""
from __future__ import annotations

import re
import sys
from collections.abc import Mapping

_LINE = re.compile(r"(?:[^\s<>,;:()'\"]*/)?(\d+\.py):(\d+)")


def files_of_cells() -> dict[str, int]:
    """Returns the number of the cell of each file of this kernel; empty outside of a notebook."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    compiler = getattr(get_shell() if get_shell is not None else None, "compile", None)
    return dict(getattr(compiler, "_filename_map", {}))


def in_cells(text: str, files: Mapping[str, int]) -> str:
    """Returns the text with the cells of these files. A text has the file's name, with or without its folders."""
    numbers = {path.rpartition("/")[2]: number for path, number in files.items()}

    def named(found: re.Match[str]) -> str:
        number = numbers.get(found[1])
        return found[0] if number is None else f"cell {number}, line {found[2]}"

    return _LINE.sub(named, text) if numbers else text
