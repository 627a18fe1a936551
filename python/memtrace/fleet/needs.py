# Purpose: says why a query without a row could not answer, and what to do.
"""A query without a row is an answer only if the files have what it compares. Otherwise it says what they lack."""
from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple, Optional

from .queries import Ask, Query


class Need(NamedTuple):
    """What the files must have, as SQL that gives one number, and its least value."""

    number: str
    least: int
    lack: str
    way_out: str  # {export}: the command that adds to the same files


ALL_RANKS = "export the traces of all ranks of the job into one directory: {export}"
RANKS = Need("SELECT COUNT(*) AS n FROM ranks p", 1,
             "it reads ranks and main processes, and these files have only children of them", ALL_RANKS)
BLOCKS = Need("SELECT COUNT(*) AS n FROM peaks k WHERE k.leads AND k.bytes > 0", 1,
              "it reads the blocks at a peak, and these files have none",
              "export a trace that has allocations: {export}")
TWO_JOBS = Need("SELECT COUNT(DISTINCT p.job) AS n FROM ranks p", 2,
                "it compares the last job with the job before it, and only one job is read", "")
TWO_RANKS = Need("SELECT COUNT(*) AS n FROM (SELECT p.job, p.pp FROM ranks p WHERE p.rank IS NOT NULL "
                 "GROUP BY p.job, p.pp HAVING COUNT(*) > 1) s", 1,
                 "it compares the ranks of a pipeline stage, and no stage in these files has two ranks", ALL_RANKS)
TWO_HOSTS = Need("SELECT COUNT(*) AS n FROM (SELECT p.job FROM processes p WHERE p.host_memory IS NOT NULL "
                 "GROUP BY p.job HAVING COUNT(DISTINCT p.host) > 1) j", 1,
                 "it compares the hosts of a job, and these files have no job with two hosts whose memory is known",
                 "export the traces of all hosts into one directory: {export}")
LEVELS = Need("SELECT COUNT(*) AS n FROM samples s JOIN ranks p ON p.job = s.job AND p.process = s.process "
              "WHERE s.measure = 'live'", 1,
              "it reads levels over time, and these files have no samples of a rank",
              "export a trace that memtrace run recorded: {export}")
PHASES = Need("SELECT COUNT(*) AS n FROM phases s WHERE s.count > 0", 1,
              "it has a row for each phase, and these files have no phase",
              "mark phases in the program: with memtrace.phase(\"load\"); or ask sites, which needs none")
LIMITS = Need("SELECT COUNT(*) AS n FROM headroom h WHERE h.limit_of IN ('cgroup', 'node', 'device')", 1,
              "it reads limits, and these files have none: of no cgroup, machine or GPU",
              "export a trace that memtrace run recorded, which samples them: {export}")
UNUSED = Need("SELECT COUNT(*) AS n FROM (SELECT l.process FROM ledgers l WHERE l.scope = 'process' AND l.at = 'peak_rss' "
              "UNION ALL SELECT k.process FROM peaks k WHERE k.asked IS NOT NULL "
              "UNION ALL SELECT u.process FROM usage u WHERE u.measure = 'reserved') f", 1,
              "it reads ledgers, blocks at a peak and reserved memory, and these files have none of them",
              "export a trace that memtrace run recorded: {export}")
# By query. Without a row, `findings` says that the reports have none.
NEEDS = {"growth": (RANKS, LEVELS), "headroom": (LIMITS,), "hosts": (TWO_HOSTS,), "outliers": (TWO_RANKS, BLOCKS),
         "peaks": (RANKS, PHASES), "regressions": (RANKS, TWO_JOBS, BLOCKS), "sites": (BLOCKS,), "waste": (UNUSED,)}


def _two_jobs(directories: Sequence[str], jobs: Sequence[str], export: str) -> str:
    """Returns how to ask for two jobs."""
    if jobs:
        return f"name another one as well: --job {shlex.quote(jobs[0])} --job JOB; or leave --job out"
    return (f"export another job, too: {export}; or name its directory, too: memtrace fleet regressions "
            f"{shlex.join(directories)} DIR")


def lack_of(query: Query, ask: Ask, directories: Sequence[str], jobs: Sequence[str]) -> Optional[str]:
    """Returns what the files of a query without a row lack for an answer, and the way out; or None if they lack nothing."""
    for need in NEEDS.get(query.name, ()) if query.is_installed else ():
        if ask(Query(query.name, need.number)).rows[0][0] < need.least:
            export = f"memtrace export TRACE --to parquet -o {shlex.quote(directories[0])}"
            return f"{query.name}: {need.lack}; {need.way_out.format(export=export) or _two_jobs(directories, jobs, export)}"
    return None
