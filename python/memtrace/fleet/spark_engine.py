# Purpose: runs a query by Apache Spark, on this machine or on a cluster.
"""The engine for a cluster."""
from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import tempfile
from typing import Any, Iterator

from .queries import NOT_BY_RANK, RANKS, Query, Refused

LOCAL_PARTITIONS = "8"  # of a shuffle; Spark's 200 take longer than the query where there is one machine


@contextlib.contextmanager
def _messages_in_file() -> Iterator[None]:
    """A Java that starts here writes its messages to a file without a name, not to the terminal."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as messages:
        terminal = os.dup(2)
        os.dup2(messages.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(terminal, 2)
            os.close(terminal)


def start(master: str) -> Any:
    """Returns a session. Raises Refused if Spark does not start."""
    from pyspark.sql import SparkSession

    builder = (SparkSession.builder.appName("memtrace fleet").config("spark.ui.showConsoleProgress", "false")
               .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false"))
    if master:
        builder = builder.master(master)
    try:
        with _messages_in_file():
            session = builder.getOrCreate()
    except Exception as error:
        raise Refused(f"Spark did not start ({_first_line(error)}); it needs Java 17 (JAVA_HOME), and a cluster that "
                      "--master reaches") from None
    session.sparkContext.setLogLevel("OFF")
    if session.sparkContext.master.startswith("local"):
        session.conf.set("spark.sql.shuffle.partitions", LOCAL_PARTITIONS)
    return session


def _first_line(error: BaseException) -> str:
    java = getattr(error, "java_exception", None)  # the text of a Py4JError begins with the name of the call
    lines = [line.strip() for line in str(error if java is None else java.toString()).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return re.sub(r"\s+SQLSTATE: \w+$", "", text)


def _make_view(session: Any, table: str, directories: list[str], jobs: list[str]) -> None:
    """Makes the files of a table readable by its name."""
    parts = []
    for directory in directories:
        frame = session.read.parquet(f"{directory.rstrip('/')}/{table}")
        if table not in NOT_BY_RANK:
            frame = frame.withColumn("rank", frame["rank"].cast("bigint"))
        parts.append(frame.filter(frame["job"].isin(jobs)) if jobs else frame.fillna("", ["job"]))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part)
    whole.createOrReplaceTempView(table)


def answer(session: Any, query: Query, directories: list[str], jobs: list[str]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Returns the names of the columns, and the rows."""
    for table in query.tables:
        _make_view(session, table, directories, jobs)
    if query.reads_ranks:
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW ranks AS {RANKS}")
    frame = session.sql(query.sql)
    return list(frame.columns), [tuple(row) for row in frame.collect()]


def run(query: Query, directories: list[str], jobs: list[str], master: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Starts Spark for one query. Returns the names of the columns, and the rows."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
    except ImportError:
        raise Refused(f"{sys.executable} has no package pyspark of version 4; install it: pip install 'libmemtrace[spark]', "
                      "or name another Python: --python FILE") from None
    logging.disable(logging.CRITICAL)  # pyspark also logs each error that it raises
    session = start(master)
    try:
        return answer(session, query, directories, jobs)
    except (PySparkException, Py4JError) as error:
        raise Refused(f"{query.name}: {_first_line(error)}") from None
    finally:
        session.stop()
