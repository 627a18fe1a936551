# Purpose: reads the rows that `memtrace export --to parquet` streams, and writes them as files of Parquet.
"""Writes TABLE/job=JOB/rank=RANK/part.parquet, of all tables or of none."""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from typing import Any, IO, Optional
from urllib.parse import quote

NO_RANK = "__HIVE_DEFAULT_PARTITION__"  # as Hive writes a partition without a value
_MOST_NAME = 255  # bytes of the name of a file


def _refuse(reason: str) -> int:
    print("memtrace: export: " + reason, file=sys.stderr)
    return 2


def _folder_of_job(job: str) -> str:
    """Returns the partition of a job. Only ASCII is escaped, because each letter of other scripts would take nine
    bytes. If the name is too long, its end is replaced by a hash."""
    def escaped(text: str) -> str:
        return "job=" + "".join(quote(letter, safe="") if letter.isascii() else letter for letter in text)

    def fits(text: str) -> bool:
        return len(escaped(text).encode()) <= _MOST_NAME

    if job in ("", NO_RANK):
        return "job=" + NO_RANK
    if fits(job):
        return escaped(job)
    mark = "-" + hashlib.sha256(job.encode()).hexdigest()[:12]
    kept = job[:_MOST_NAME]
    while not fits(kept + mark):
        kept = kept[:-1]
    return escaped(kept + mark)


class _Incomplete(Exception):
    """The stream has no last line: the command ended early, and it says why."""


class _Files:
    """Writes the files below a folder of this export alone, then gives them their names."""

    def __init__(self, directory: str, tables: dict[str, Any], arrow: Any, parquet: Any) -> None:
        self.directory = directory
        self.stage = os.path.join(directory, f".export-{os.uname().nodename}-{os.getpid()}")
        self.parquet = parquet
        self.arrow = arrow
        types = {"string": arrow.string(), "int64": arrow.int64(), "double": arrow.float64(), "bool": arrow.bool_()}
        self.schemas = {name: arrow.schema([(column, types[kind]) for column, kind in table["columns"]])
                        for name, table in tables.items()}
        self.by_rank = {name: table["by_rank"] for name, table in tables.items()}
        self.rows: dict[str, list[list[Any]]] = {}
        self.written: dict[str, None] = {}  # paths, each once

    def _write(self, name: str, folder: str) -> None:
        schema = self.schemas[name]
        columns = list(zip(*self.rows.pop(name, []))) or [()] * len(schema)
        table = self.arrow.table([self.arrow.array(values, field.type) for values, field in zip(columns, schema)],
                                 schema=schema)
        os.makedirs(os.path.join(self.stage, name, folder), exist_ok=True)
        path = os.path.join(name, folder, "part.parquet")
        # Arrow's own schema would be a tenth of the files, and only Arrow reads it.
        self.parquet.write_table(table, os.path.join(self.stage, path), compression="zstd", store_schema=False)
        self.written[path] = None

    def close_partition(self, job: str, rank: Optional[int]) -> None:
        """Writes the rows of the rank. A table without rows gets a file, too: it replaces that of an earlier export.
        The rows of a job come with any of its ranks."""
        of_job = _folder_of_job(job)
        for name, by_rank in self.by_rank.items():
            if by_rank:
                self._write(name, os.path.join(of_job, f"rank={NO_RANK if rank is None else rank}"))
            elif name in self.rows or os.path.join(name, of_job, "part.parquet") not in self.written:
                self._write(name, of_job)

    def publish(self) -> None:
        """Replaces the files of the same ranks. Each file is whole at any time."""
        for path in self.written:
            os.makedirs(os.path.dirname(os.path.join(self.directory, path)), exist_ok=True)
            os.replace(os.path.join(self.stage, path), os.path.join(self.directory, path))


def _read(stream: IO[str], files: _Files) -> None:
    partition: Optional[tuple[str, Optional[int]]] = None
    rows = 0
    for line in stream:
        value = json.loads(line)
        if isinstance(value, list):
            files.rows.setdefault(value[0], []).append(value[1:])
            rows += 1
            continue
        if partition is not None:
            files.close_partition(*partition)
        if "rows" in value:
            if value["rows"] != rows:
                raise _Incomplete
            return
        partition = (value["job"], value["rank"])
    raise _Incomplete


def main(words: list[str]) -> int:
    """Writes the stream on stdin below the directory that is the first word. Returns the exit status."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return _refuse(f"{sys.executable} has no package pyarrow, which writes Parquet; install it: "
                       "pip install 'libmemtrace[fleet]', or name another Python: --python FILE")
    directory = words[0]
    files = None
    try:
        os.makedirs(directory, exist_ok=True)
        print("ready", flush=True)
        stream = open(sys.stdin.fileno(), encoding="utf-8", closefd=False)
        header = stream.readline()
        if not header:
            return 2
        files = _Files(directory, json.loads(header)["tables"], pyarrow, pyarrow.parquet)
        _read(stream, files)
        files.publish()
    except _Incomplete:
        return 2
    except (OSError, ValueError) as error:
        return _refuse(f"{directory}: cannot be written ({error}); name another directory with -o")
    finally:
        if files is not None:
            shutil.rmtree(files.stage, ignore_errors=True)
    return 0
