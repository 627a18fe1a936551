# Purpose: runs a query in this process, by DuckDB.
"""The engine for one machine."""
from __future__ import annotations

import sys
from typing import Any

from .queries import NOT_BY_RANK, RANKS, Query, Refused


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _view(table: str, directories: list[str], jobs: list[str]) -> str:
    """Returns the statement that makes the files of a table readable by its name."""
    by_rank = table not in NOT_BY_RANK
    depth = "/*/*/*.parquet" if by_rank else "/*/*.parquet"
    files = ", ".join(_text(f"{directory.rstrip('/')}/{table}{depth}") for directory in directories)
    types = "'job': VARCHAR, 'rank': BIGINT" if by_rank else "'job': VARCHAR"
    chosen = f" WHERE job IN ({', '.join(_text(job) for job in jobs)})" if jobs else ""
    return (f"CREATE VIEW {table} AS SELECT * REPLACE (COALESCE(job, '') AS job) FROM read_parquet([{files}], hive_partitioning = true, "
            f"hive_types = {{{types}}}){chosen}")


def run(query: Query, directories: list[str], jobs: list[str], _master: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Returns the names of the columns, and the rows."""
    try:
        import duckdb
    except ImportError:
        raise Refused(f"{sys.executable} has no package duckdb; install it: pip install 'libmemtrace[fleet]', or name "
                      "another Python: --python FILE, or another engine: --engine spark") from None
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("SET enable_progress_bar = false")  # after 2 s, it would go to stdout
        for table in query.tables:
            connection.execute(_view(table, directories, jobs))
        if query.reads_ranks:
            connection.execute(f"CREATE VIEW ranks AS {RANKS}")
        connection.execute(query.sql)
        return [column[0] for column in connection.description or []], connection.fetchall()
    except duckdb.Error as error:
        raise Refused(f"{query.name}: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()
