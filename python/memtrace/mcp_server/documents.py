# Purpose: runs the command `memtrace` for a document in JSON, within a time, a size and without writing.
"""Runs the command, which does the work, and keeps its last documents."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from typing import Any

from ..command import CommandError, find_command
from .trace_paths import TracePaths

TIME_LIMIT = 120.0  # seconds of one command
MAX_OUTPUT = 64 << 20
KEPT = 4  # documents, so that the next page is not a new analysis

Document = dict[str, Any]


def _environment() -> dict[str, str]:
    left_out = ("LD_PRELOAD", "DEBUGINFOD_URLS")  # the command is not traced, and asks no server
    return {**{name: value for name, value in os.environ.items() if name not in left_out},
            "MEMTRACE_KEEP_EVIDENCE": "0"}


def _text_of(words: list[str]) -> str:
    command = os.environ.get("MEMTRACE_COMMAND") or find_command()
    # Both streams go to files without a name: a command that writes too much fills no memory of the server.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as talk:
        try:
            done = subprocess.run([command, *words], env=_environment(), stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=talk, timeout=TIME_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            raise CommandError(f"the command took more than {TIME_LIMIT:.0f} s; name one trace of the job") from None
        except OSError as error:
            raise CommandError(f"{command}: {error.strerror}") from error
        if done.returncode != 0:
            talk.seek(0)
            reason = talk.read(2000).decode(errors="replace").strip()
            raise CommandError(reason or f"memtrace ended with {done.returncode} and no message", status=done.returncode)
        if os.fstat(out.fileno()).st_size > MAX_OUTPUT:
            raise CommandError(f"the document has more than {MAX_OUTPUT >> 20} MiB; name one trace of the job")
        out.seek(0)
        return out.read().decode(errors="replace")


class Documents:
    """The documents of the command, by its words and the state of the traces that it read."""

    def __init__(self, paths: TracePaths) -> None:
        self.paths = paths
        self._kept: dict[tuple[Any, ...], Document] = {}
        self._one_at_a_time = threading.Lock()  # the SDK runs tools in threads; one analysis may take all memory

    def of(self, command: str, traces: list[str], *options: str) -> Document:
        """Returns the document of `memtrace COMMAND TRACE... OPTIONS`. The traces are names of list_traces."""
        with self._one_at_a_time:
            return self._document(command, [self.paths.resolve(trace) for trace in traces], options)

    def _document(self, command: str, found: list[str], options: tuple[str, ...]) -> Document:
        key = (command, options, *((path, self.paths.signature(path)) for path in found))
        if key not in self._kept:
            document: Document = json.loads(_text_of([command, *options, "--format", "json", *found]))
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = document
        return self._kept[key]
