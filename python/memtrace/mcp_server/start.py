# Purpose: checks what the server needs, and starts it.
"""Starts the server, or says in one line why it cannot start."""
from __future__ import annotations

import sys

from .trace_paths import RefusedPath, TracePaths

DEFAULT = "memtrace-out"


def _refuse(reason: str) -> int:
    print("memtrace: " + reason, file=sys.stderr)
    return 2


def main(arguments: list[str]) -> int:
    """Serves on stdin and stdout until stdin ends. Returns the exit status."""
    directories = [word for position, word in enumerate(arguments) if position or word != "--"]
    if sys.version_info < (3, 10):
        version = ".".join(str(part) for part in sys.version_info[:2])
        return _refuse(f"mcp: {sys.executable} is Python {version}, and the server needs 3.10; name another: "
                       "memtrace mcp --python FILE")
    try:
        from .tools import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "mcp":
            raise
        return _refuse(f"mcp: {sys.executable} has no package mcp of version 2; install it: "
                       "pip install 'libmemtrace[mcp]', or name another Python: memtrace mcp --python FILE")
    try:
        paths = TracePaths(directories or [DEFAULT])
    except RefusedPath as error:
        return _refuse(f"mcp: {error}")
    make_server(paths).run("stdio")
    return 0
