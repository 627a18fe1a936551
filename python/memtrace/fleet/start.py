# Purpose: runs a query of `memtrace fleet`, and prints its rows.
"""Starts a query, or says in one line why it cannot start."""
from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from typing import Any

from . import duckdb_engine, spark_engine
from .queries import Refused, all_queries, check_directories, find_query
from .text_table import WIDTH, text_table

ENGINES = {"duckdb": duckdb_engine.run, "spark": spark_engine.run}


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="memtrace fleet")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="duckdb")
    parser.add_argument("--master", default="")
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--job", action="append", default=[])
    parser.add_argument("query", nargs="?")
    parser.add_argument("directories", nargs="*")
    return parser.parse_args(words)


def rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Engines add numbers in different orders, so the last digits differ."""
    return tuple(float(f"{value:.9g}") if isinstance(value, float) else value for value in row)


def _print(name: str, form: str, columns: list[str], rows: list[tuple[Any, ...]], most: int) -> None:
    if form == "json":
        print(json.dumps({"schema": "memtrace.fleet/1", "query": name,
                          "rows": [dict(zip(columns, row)) for row in rows]}, indent=1))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    elif not rows:
        print(f"{name}: no row")
    else:
        print("\n".join(text_table(columns, rows, most)))


def _list() -> None:
    queries = all_queries()
    wide = max(len(query.name) for query in queries)
    for query in queries:
        text = f"{query.name:<{wide}}  {query.purpose}"
        print(text if len(text) <= WIDTH else text[:WIDTH - 1] + "…")


def main(words: list[str]) -> int:
    """Runs the query. Returns the exit status."""
    arguments = _parse(words)
    try:
        if arguments.list:
            _list()
            return 0
        query = find_query(arguments.query)
        check_directories(arguments.directories, query.tables)
        columns, rows = ENGINES[arguments.engine](query, arguments.directories, arguments.job, arguments.master)
        _print(query.name, arguments.format, columns, list(map(rounded, rows)), arguments.rows)
        sys.stdout.flush()
    except Refused as refused:
        print(f"memtrace: fleet: {refused}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0
