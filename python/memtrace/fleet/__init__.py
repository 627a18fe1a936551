# Purpose: the figures of many ranks as files of Parquet, and queries over them. docs/export.md and docs/fleet.md.
"""Files of Parquet with the figures of many ranks, and queries over them:

    from memtrace import fleet

    fleet.query("outliers", "DIR").rows()
    fleet.sql("SELECT host, COUNT(*) AS ranks FROM ranks GROUP BY host", "DIR").to_pandas()
"""
from .answer import Answer, NoAnswer, query, sql
from .queries import QueryError

__all__ = ["Answer", "NoAnswer", "QueryError", "query", "sql"]
