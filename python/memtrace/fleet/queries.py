# Purpose: the queries over the figures of many ranks: files of SQL that every engine runs without a change.
"""Finds queries, and the tables that they read."""
from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple
from urllib.parse import unquote

from .parquet_files import NO_RANK

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sql")
TABLES = ("jobs", "processes", "phases", "peaks", "ledgers", "findings", "samples", "usage", "headroom",
          "job_findings")
NOT_BY_RANK = ("jobs", "job_findings")
# A view that each engine makes. A launcher has no rank, but the ranks that it started have.
RANKS = ("SELECT p.* FROM (SELECT q.*, MAX(q.rank) OVER (PARTITION BY q.job) AS last_rank FROM processes q) p "
         "WHERE p.kind NOT IN ('worker', 'child') AND (p.rank IS NOT NULL OR p.last_rank IS NULL)")


class QueryError(RuntimeError):
    """The query cannot run. The text is one line: the thing, the reason, the way out."""


class Table(NamedTuple):
    """What an engine answers to a query."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


class Query(NamedTuple):
    name: str
    sql: str

    @property
    def purpose(self) -> str:
        """What the query answers, from its first line."""
        found = re.match(r"-- Purpose: (.*)", self.sql)
        return found.group(1) if found else ""

    @property
    def is_installed(self) -> bool:
        """True if this is a query of memtrace, not a query of the user with the same name."""
        path = os.path.join(FOLDER, self.name + ".sql")
        return os.path.isfile(path) and _read(self.name, path) == self

    @property
    def tables(self) -> list[str]:
        """The tables that the query may read."""
        read = self._names()
        return [name for name in TABLES if name in read or (name == "processes" and self.reads_ranks)]

    @property
    def reads_ranks(self) -> bool:
        """True if the query may read the view of the ranks."""
        return "ranks" in self._names()

    def _names(self) -> set[str]:
        text = re.sub(r"--[^\n]*|'[^']*'", " ", self.sql)
        return set(re.findall(r"(?:\bfrom|\bjoin|,)\s+(\w+)", text, re.IGNORECASE))


Ask = Callable[[Query], Table]  # runs a query in a session of an engine


def _read(name: str, path: str) -> Query:
    try:
        with open(path, encoding="utf-8") as file:
            return Query(name, file.read().strip().rstrip(";"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text in UTF-8"
        raise QueryError(f"{path}: {reason}; name a readable file of SQL, or a query of memtrace fleet --list") from None


def all_queries() -> list[Query]:
    """Returns the queries of this installation, by name."""
    return [_read(name[:-4], os.path.join(FOLDER, name)) for name in sorted(os.listdir(FOLDER)) if name.endswith(".sql")]


def find_query(name: str) -> Query:
    """Returns the query of that name, or that of the file if the name ends in .sql."""
    if name.endswith(".sql"):
        return _read(os.path.basename(name)[:-4], name)
    known = all_queries()
    for query in known:
        if query.name == name:
            return query
    names = ", ".join(query.name for query in known)
    raise QueryError(f"{name}: no such query; there are {names}, or name a file that ends in .sql")


def is_address(directory: str) -> bool:
    """True if the engine finds the files elsewhere, as in object storage."""
    return "://" in directory


def check_directories(directories: Sequence[str], tables: Sequence[str]) -> None:
    """Raises QueryError if a local directory lacks a table that the query reads."""
    for directory in directories:
        if is_address(directory):
            continue
        if not os.path.isdir(directory):
            raise QueryError(f"{directory}: no such directory; name one that memtrace export --to parquet wrote")
        if not os.path.isdir(os.path.join(directory, "processes")):
            raise QueryError(f"{directory}: has no files of memtrace export --to parquet; write them: "
                          f"memtrace export TRACE --to parquet -o {directory}")
        for table in tables:
            if not os.path.isdir(os.path.join(directory, table)):
                raise QueryError(f"{directory}: has no table {table}, which the query reads; an older version wrote it: "
                              "export the traces again")


def check_jobs(directories: Sequence[str], jobs: Sequence[str]) -> None:
    """Raises QueryError if no directory has a job of this name. Of addresses, nothing is known."""
    if not jobs or any(map(is_address, directories)):
        return
    known = sorted({job_of_folder(name) for directory in directories
                    for name in os.listdir(os.path.join(directory, "processes")) if name.startswith("job=")})
    for job in jobs:
        if job not in known:
            raise QueryError(f"--job {job}: {' '.join(directories)} has no such job; it has {', '.join(known)}")


def job_of_folder(name: str) -> str:
    """Returns the job whose files are in a folder of this name."""
    job = unquote(name[len("job="):])
    return "" if job == NO_RANK else job
