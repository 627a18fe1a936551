# Purpose: the paths that the server may read: traces inside the directories that it was given.
"""Lists traces, and turns the name of a trace into a path inside a directory of the server."""
from __future__ import annotations

import os
import stat
from dataclasses import dataclass

SUFFIXES = (".memtrace", ".memtrace.zst", ".pickle")  # traces, packed files, snapshots of PyTorch
MAX_BYTES = 4 << 30  # of one trace or job: MEMTRACE_MAX_NODE by default
MAX_ENTRIES = 4096  # of one directory with what is below it
MAX_NAME = 1000


class RefusedPath(ValueError):
    """The server must not read this path. The text says why."""


@dataclass(frozen=True)
class Found:
    """A trace that can be asked for."""
    name: str
    kind: str
    files: int
    bytes: int
    modified: float


@dataclass(frozen=True)
class Listing:
    """What can be asked for, the newest first."""
    found: list[Found]
    cut: list[str]  # a text for each directory with entries that were not read


def _shown(text: str) -> str:
    return ascii(text[:100])


def _checked_name(name: str) -> str:
    if not name or len(name) > MAX_NAME:
        raise RefusedPath(f"trace: give a name of 1 to {MAX_NAME} characters, as list_traces returns it")
    if any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) < 0xE000 for char in name):
        raise RefusedPath(f"{_shown(name)}: the name has a control character; give a name that list_traces returns")
    if name.startswith("-"):
        raise RefusedPath(f"{_shown(name)}: an option is not a trace; give a name that list_traces returns")
    if ".." in name.split("/"):
        raise RefusedPath(f"{_shown(name)}: '..' is not allowed; give a name that list_traces returns")
    return name


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class TracePaths:
    """The directories of the server, with links resolved when it starts."""

    def __init__(self, directories: list[str]) -> None:
        self.roots: list[str] = []
        for directory in directories:
            root = os.path.realpath(directory)
            if os.path.exists(root) and not os.path.isdir(root):
                raise RefusedPath(f"{_shown(directory)} is not a directory; give directories of traces")
            if root not in self.roots:
                self.roots.append(root)

    def resolve(self, name: str) -> str:
        """Returns the path of a trace. Raises RefusedPath if it is not a trace inside a directory of the server."""
        _checked_name(name)
        if name.startswith("/"):
            candidates = [name]
        else:
            candidates = [os.path.join(root, name) for root in self.roots]
        inside = False
        for candidate in candidates:
            path = os.path.realpath(candidate)
            root = next((root for root in self.roots if _is_inside(path, root)), None)
            inside = inside or root is not None
            if root is not None and os.path.lexists(path):
                self._survey(path)
                return path
        if not inside:
            raise RefusedPath(f"{_shown(name)} is outside the directories of this server; list_traces lists what it reads")
        raise RefusedPath(f"{_shown(name)} is not there; list_traces lists what there is")

    def _survey(self, path: str) -> tuple[int, int, float]:
        """Returns the number of files, their bytes and the newest change. Refuses what is not plain files."""
        pending, files, size, modified, entries = [path], 0, 0, 0.0, 0
        while pending:
            one = pending.pop()
            status = os.lstat(one)
            entries += 1
            if entries > MAX_ENTRIES:
                raise RefusedPath(f"{_shown(path)} has more than {MAX_ENTRIES} entries; name one trace in it")
            if stat.S_ISDIR(status.st_mode):
                pending.extend(entry.path for entry in os.scandir(one))
                continue
            if stat.S_ISLNK(status.st_mode):
                target = os.path.realpath(one)
                if not any(_is_inside(target, root) for root in self.roots):
                    raise RefusedPath(f"{_shown(one)} is a link to a file outside; remove it, or name one trace")
                continue
            if not stat.S_ISREG(status.st_mode):
                raise RefusedPath(f"{_shown(one)} is not a plain file (a socket, pipe or device); name one trace")
            files, size, modified = files + 1, size + status.st_size, max(modified, status.st_mtime)
        if size > MAX_BYTES:
            raise RefusedPath(f"{_shown(path)} has {size} bytes, more than {MAX_BYTES}; use the command memtrace")
        return files, size, modified

    def signature(self, path: str) -> tuple[int, int, float]:
        """Returns a value that changes if the trace changes."""
        return self._survey(path)

    def list(self) -> Listing:
        """Returns the jobs and traces in the directories. Leaves out what `resolve` refuses."""
        out: list[Found] = []
        cut: list[str] = []
        for root in self.roots:
            try:
                entries = sorted(os.scandir(root), key=lambda entry: entry.name)
            except OSError:
                continue
            if len(entries) > MAX_ENTRIES:
                cut.append(f"{_shown(root)} has {len(entries)} entries, and only the first {MAX_ENTRIES} by name were read; "
                           "ask for other traces by name, or start the server with a directory that has fewer")
            for entry in entries[:MAX_ENTRIES]:
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and not entry.name.endswith(SUFFIXES):
                    continue
                name = entry.name if len(self.roots) == 1 else entry.path
                try:
                    files, size, modified = self._survey(self.resolve(name))
                except (RefusedPath, OSError):
                    continue
                out.append(Found(name, "job" if is_folder else "file", files, size, modified))
        return Listing(sorted(out, key=lambda found: (-found.modified, found.name)), cut)
