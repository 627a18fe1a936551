# Purpose: the extension of IPython, `%load_ext memtrace.notebook`. The kernel of `memtrace jupyter install` loads it.
"""Each cell is a phase, and `%%memtrace` shows what a cell did to memory."""
from __future__ import annotations

from typing import Any

_PROPERTY = "_memtrace_cells"  # of the shell: the extension may be loaded twice


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext memtrace.notebook`."""
    from .cells import Cells

    if getattr(shell, _PROPERTY, None) is None:
        cells = Cells(shell)
        setattr(shell, _PROPERTY, cells)
        cells.attach()


def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext memtrace.notebook`."""
    cells = getattr(shell, _PROPERTY, None)
    if cells is not None:
        cells.detach()
        setattr(shell, _PROPERTY, None)
