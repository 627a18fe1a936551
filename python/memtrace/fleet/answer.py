# Purpose: the queries over a fleet, for programs and notebooks. docs/fleet.md.
"""Runs a query over a fleet, and gives its rows."""
from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Union

from . import duckdb_engine, needs, spark_engine
from .queries import Query, QueryError, check_directories, check_jobs, find_query

if TYPE_CHECKING:
    import pandas

ENGINES = {"duckdb": duckdb_engine.session, "spark": spark_engine.session}
DIRECTORY = "fleet"  # if the caller names none, as for the command


@dataclasses.dataclass(frozen=True, repr=False)
class Answer:
    """The rows of a query, in its order. Sizes are bytes."""

    query: str  # its name; "sql" for a text
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]  # a tuple for each row

    def __repr__(self) -> str:
        return f"<memtrace.fleet.Answer of {self.query}: {len(self.values)} rows>"

    def __len__(self) -> int:
        return len(self.values)

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows as dictionaries. A value that is not known is None."""
        return [dict(zip(self.columns, row)) for row in self.values]

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the rows as a frame of pandas. Raises ImportError if pandas is not installed."""
        try:
            frames = import_module("pandas")
        except ImportError as error:
            text = "Answer.to_pandas needs pandas, which is not installed: pip install pandas"
            raise ImportError(text, name="pandas") from error
        return frames.DataFrame.from_records(list(self.values), columns=list(self.columns)).convert_dtypes()


class NoAnswer(QueryError):
    """The files lack what the query needs for an answer. `answer` has the columns, without a row."""

    def __init__(self, text: str, answer: Answer) -> None:
        super().__init__(text)
        self.answer = answer


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Engines add numbers in different orders, so the last digits differ."""
    return tuple(float(f"{value:.9g}") if isinstance(value, float) else value for value in row)


def run(query: Query, directories: Sequence[str], jobs: Sequence[str], engine: str, master: str) -> Answer:
    """Runs a query. Raises QueryError if it cannot run, and NoAnswer if the files lack what it needs for an answer."""
    check_directories(directories, query.tables)
    check_jobs(directories, jobs)
    if engine not in ENGINES:
        raise QueryError(f"{engine}: no such engine; there are {', '.join(ENGINES)}")
    with ENGINES[engine](directories, jobs, master) as ask:
        table = ask(query)
        lack = None if table.rows else needs.lack_of(query, ask, directories, jobs)
    answer = Answer(query.name, tuple(table.columns), tuple(map(_rounded, table.rows)))
    if lack is not None:
        raise NoAnswer(lack, answer)
    return answer


def _names(directories: Sequence[Union[str, os.PathLike[str]]]) -> list[str]:
    return [os.fspath(directory) for directory in directories] or [DIRECTORY]


def query(name: str, *directories: Union[str, os.PathLike[str]], jobs: Sequence[str] = (), engine: str = "duckdb",
          master: str = "") -> Answer:
    """Runs a query of `memtrace fleet --list`, or the query of a file that ends in .sql.

    directories: what `memtrace export --to parquet` wrote, "fleet" by default; several are one fleet. jobs: read only these.
    engine: "duckdb" or "spark". master: the cluster of Spark, by default that of its settings.

    Raises QueryError, with the reason and the way out in one line, if the query cannot run; and NoAnswer, which is one, if
    the files lack what it needs for an answer."""
    return run(find_query(name), _names(directories), jobs, engine, master)


def sql(text: str, *directories: Union[str, os.PathLike[str]], jobs: Sequence[str] = (), engine: str = "duckdb",
        master: str = "") -> Answer:
    """Runs a query of your own. The tables are those of the export, and `ranks`: the processes that count as ranks.

    The other arguments are those of `query`."""
    return run(Query("sql", text.strip().rstrip(";")), _names(directories), jobs, engine, master)
