# Purpose: runs a query by Apache Spark, on this machine or on a cluster.
"""The engine for a cluster."""
from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from .queries import NOT_BY_RANK, RANKS, Ask, Query, QueryError, Table

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


def _start(master: str) -> tuple[Any, Any]:
    """Returns a session, and the one to stop after it: None if Spark runs already. Raises QueryError if Spark does not start."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        session = running.newSession()  # its tables and settings are its own
    else:
        builder = SparkSession.builder.appName("memtrace fleet").config("spark.ui.showConsoleProgress", "false")
        if master:
            builder = builder.master(master)
        try:
            with _messages_in_file():
                session = builder.getOrCreate()
        except Exception as error:
            raise QueryError(f"Spark did not start ({_first_line(error)}); it needs Java 17 (JAVA_HOME), and a cluster that "
                             "--master reaches") from None
        session.sparkContext.setLogLevel("OFF")
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    if session.sparkContext.master.startswith("local"):
        session.conf.set("spark.sql.shuffle.partitions", LOCAL_PARTITIONS)
    return session, None if running is not None else session


def _first_line(error: BaseException) -> str:
    java = getattr(error, "java_exception", None)  # the text of a Py4JError begins with the name of the call
    lines = [line.strip() for line in str(error if java is None else java.toString()).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return re.sub(r"\s+SQLSTATE: \w+$", "", text)


def _make_view(session: Any, table: str, directories: Sequence[str], jobs: Sequence[str]) -> None:
    """Makes the files of a table readable by its name."""
    parts = []
    for directory in directories:
        frame = session.read.parquet(f"{directory.rstrip('/')}/{table}")
        if table not in NOT_BY_RANK:
            frame = frame.withColumn("rank", frame["rank"].cast("bigint"))
        if jobs:  # the folder of a job without a name gives NULL
            chosen = frame["job"].isin(list(jobs))
            frame = frame.filter(chosen | frame["job"].isNull() if "" in jobs else chosen)
        parts.append(frame.fillna("", ["job"]))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part)
    whole.createOrReplaceTempView(table)


@contextlib.contextmanager
def session(directories: Sequence[str], jobs: Sequence[str], master: str) -> Iterator[Ask]:
    """Gives a function that runs queries. Starts Spark if it does not run in this process."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
    except ImportError:
        raise QueryError(f"{sys.executable} has no package pyspark of version 4; install it: pip install 'libmemtrace[spark]', "
                         "or name another Python: --python FILE") from None
    silenced = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # pyspark also logs each error that it raises
    to_stop = None

    def ask(query: Query) -> Table:
        try:
            for table in query.tables:
                _make_view(spark, table, directories, jobs)
            if query.reads_ranks:
                spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW ranks AS {RANKS}")
            frame = spark.sql(query.sql)
            return Table(list(frame.columns), [tuple(row) for row in frame.collect()])
        except (PySparkException, Py4JError) as error:
            raise QueryError(f"{query.name}: {_first_line(error)}") from None

    try:
        spark, to_stop = _start(master)
        yield ask
    finally:
        if to_stop is not None:
            to_stop.stop()
        logging.disable(silenced)
