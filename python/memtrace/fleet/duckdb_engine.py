# Purpose: runs a query in this process, by DuckDB.
"""The engine for one machine."""
from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence

from .queries import NOT_BY_RANK, RANKS, Ask, Query, QueryError, Table


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _files(table: str, directories: Sequence[str], jobs: Sequence[str]) -> str:
    """Returns the statement that reads the files of a table."""
    by_rank = table not in NOT_BY_RANK
    depth = "/*/*/*.parquet" if by_rank else "/*/*.parquet"
    files = ", ".join(_text(f"{directory.rstrip('/')}/{table}{depth}") for directory in directories)
    types = "'job': VARCHAR, 'rank': BIGINT" if by_rank else "'job': VARCHAR"
    chosen = f" WHERE job IN ({', '.join(map(_text, jobs))})" if jobs else ""
    if "" in jobs:  # the folder of a job without a name gives NULL
        chosen += " OR job IS NULL"
    return (f"SELECT * REPLACE (COALESCE(job, '') AS job) FROM read_parquet([{files}], hive_partitioning = true, "
            f"hive_types = {{{types}}}){chosen}")


@contextlib.contextmanager
def session(directories: Sequence[str], jobs: Sequence[str], _master: str) -> Iterator[Ask]:
    """Gives a function that runs queries."""
    try:
        import duckdb
    except ImportError:
        raise QueryError(f"{sys.executable} has no package duckdb; install it: pip install 'libmemtrace[fleet]', or name "
                         "another Python: --python FILE, or another engine: --engine spark") from None
    connection = duckdb.connect(":memory:")
    views: set[str] = set()

    def make(view: str, sql: str) -> None:
        if view not in views:
            connection.execute(f"CREATE VIEW {view} AS {sql}")
            views.add(view)

    def ask(query: Query) -> Table:
        try:
            for table in query.tables:
                make(table, _files(table, directories, jobs))
            if query.reads_ranks:
                make("ranks", RANKS)
            connection.execute(query.sql)
            return Table([column[0] for column in connection.description or []], connection.fetchall())
        except duckdb.Error as error:
            raise QueryError(f"{query.name}: {str(error).splitlines()[0]}") from None

    try:
        # After 2 s, a progress bar would go to stdout. In Jupyter without ipywidgets, DuckDB has none, and refuses.
        with contextlib.suppress(duckdb.Error):
            connection.execute("SET enable_progress_bar = false")
        yield ask
    finally:
        connection.close()
