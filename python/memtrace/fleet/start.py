# Purpose: runs a query of `memtrace fleet`, and prints its rows.
"""Starts a query, or says in one line why it cannot start."""
from __future__ import annotations

import argparse
import csv
import json
import os
import sys

from .answer import ENGINES, Answer, run
from .queries import QueryError, all_queries, find_query
from .text_table import WIDTH, text_table


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


def _print(answer: Answer, form: str, most: int) -> None:
    if form == "json":
        print(json.dumps({"schema": "memtrace.fleet/1", "query": answer.query, "rows": answer.rows()}, indent=1))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.values)
    elif not answer.values:
        print(f"{answer.query}: no row")
    else:
        print("\n".join(text_table(answer.columns, answer.values, most)))


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
        answer = run(find_query(arguments.query), arguments.directories, arguments.job, arguments.engine, arguments.master)
        _print(answer, arguments.format, arguments.rows)
        sys.stdout.flush()
    except QueryError as refused:
        print(f"memtrace: fleet: {refused}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0
