# Purpose: finds the command `memtrace`, and runs it for its output.
"""Runs the command memtrace, which does the work."""
from __future__ import annotations

import os
import shutil
import subprocess
from typing import Optional

from .places import PLACES, beside_package


class CommandError(RuntimeError):
    """The command memtrace could not be run, or it failed. Its text says why."""

    def __init__(self, text: str, arguments: tuple[str, ...] = (), status: Optional[int] = None) -> None:
        super().__init__(text)
        self.arguments = arguments
        self.status = status


def find_command() -> str:
    """Returns the path of the command. Raises CommandError if it is not there."""
    found = beside_package() or shutil.which("memtrace")
    if found is None:
        raise CommandError(f"no command memtrace in {os.path.dirname(PLACES[0])} or on PATH; pip install libmemtrace, "
                           "or add the folder of the command to PATH")
    return found


def run_command(*arguments: str) -> str:
    """Returns what `memtrace ARGUMENTS` writes. Raises CommandError if it fails."""
    # The command is not part of what is traced.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        done = subprocess.run([find_command(), *arguments], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}", arguments) from error
    if done.returncode != 0:
        reason = done.stderr.strip() or f"memtrace {' '.join(arguments)}: exit status {done.returncode}, no message"
        raise CommandError(reason, arguments, done.returncode)
    return done.stdout
