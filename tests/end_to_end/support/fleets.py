"""Purpose: rows of fleets with known figures, and the commands that write and ask them."""
import json
import os
import subprocess
import sys
import unittest

import exports
import harness
from harness import MIB

QUERIES = ("findings", "growth", "headroom", "hosts", "outliers", "peaks", "regressions", "sites", "waste")
RANKS, HOSTS, TP = 16 if harness.ALL else 8, 4, 2
OUTLIER = 1  # its stage has at least three other ranks
SECONDS = 7200.0
STEP = 120  # seconds
SAVE = "#!/bin/sh\necho ready\nexec cat > \"$STREAM\"\n"
# One session of Spark for many queries: it takes half a minute to start.
ASK_SPARK = """
import json, sys
from pyspark.sql import SparkSession
from memtrace import fleet
spark = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
out = {}
for name in sys.argv[2:]:
    try:
        out[name] = fleet.query(name, sys.argv[1], engine="spark").rows()
    except fleet.NoAnswer as lack:
        out[name] = str(lack)
assert spark.range(3).count() == 3  # the session of the program goes on
spark.stop()
print(json.dumps(out))
"""


class Rows:
    """Rows by the names of columns, as the stream that the writer of Parquet reads."""

    def __init__(self, header, leave_out=()):
        self.header = header
        self.left_out = leave_out
        self.columns = {name: [column for column, _ in table["columns"]] for name, table in header["tables"].items()}
        self.lines = [header]
        self.count = 0

    def partition(self, job, rank):
        self.lines.append({"job": job, "rank": rank})

    def add(self, table, **values):
        unknown = set(values) - set(self.columns[table])
        assert not unknown, unknown
        if table in self.left_out:
            return
        self.lines.append([table, *(values.get(column) for column in self.columns[table])])
        self.count += 1

    def text(self):
        return "".join(json.dumps(line) + "\n" for line in [*self.lines, {"rows": self.count}])


class Rank:
    """The figures of one rank of a planted fleet. `faults` are planted, or none is."""

    def __init__(self, number, faults):
        self.number = number
        self.host = f"node{number * HOSTS // RANKS}"
        self.pp, self.tp, self.dp = number * 2 // RANKS, number % TP, number // TP % (RANKS // 2 // TP)
        self.process = f"{self.host}/{100 + number}"
        self.parameters = (400 if self.pp == 0 else 300) * MIB
        self.extra = 300 * MIB if faults and number == OUTLIER else 0
        self.leak = 4096 if faults and self.tp == 1 else 0  # bytes in each second
        self.memory = (64 if faults and self.host == "node2" else 128) * 1024 * MIB
        self.cache = (40 if faults and self.host == "node3" else 2) * 1024 * MIB
        self.retained = (number + 1) * MIB

    @property
    def peak(self):
        return self.parameters + self.extra + 100 * MIB

    def write(self, rows, job, started, more):
        rows.partition(job, self.number)
        if self.number == 0:
            rows.add("job_findings", id="rank-copies", memory="host", bytes=700 * MIB, own_line="train.py:30")
            rows.add("jobs", attempt=1, launcher="torchrun", world_size=RANKS, schema="memtrace.parquet/1")
        rows.add("processes", process=self.process, pid=100 + self.number, host=self.host, kind="rank", pp=self.pp, tp=self.tp,
                 dp=self.dp, start_unix=started, duration=SECONDS, host_memory=self.memory, host_cache=self.cache + MIB,
                 host_shmem=MIB)
        self.write_levels(rows)
        for role, line, size in (("parameter", "train.py:10", self.parameters), ("activation", "train.py:20", 100 * MIB + more),
                                 ("unknown", "train.py:99", self.extra)):
            if size:
                rows.add("peaks", process=self.process, memory="host", measure="live", leads=True, phase="forward", role=role,
                         kind="heap", own_line=line, bytes=size, untouched=0, asked=size - 1024, blocks=4, how="measured")
        rows.add("ledgers", process=self.process, scope="process", memory="host", at="peak_rss", total=self.peak,
                 name="kept by the allocator", bytes=self.retained, how="measured")
        rows.add("ledgers", process=self.process, scope="process", memory="host", at="end", total=self.peak,
                 name="kept by the allocator", bytes=900 * MIB, how="measured")
        rows.add("headroom", process=self.process, limit_of="node", name=self.host, memory="host", soft=False,
                 limit_bytes=self.memory, needed_bytes=self.peak, used_bytes=self.memory)
        rows.add("headroom", process=self.process, limit_of="device", name="cuda:0", memory="cuda:0", soft=False,
                 limit_bytes=80 * 1024 * MIB, used_bytes=(20 + self.number) * 1024 * MIB)

    def write_levels(self, rows):
        for phase, level in (("load", self.parameters), ("forward", self.peak)):
            for step in (0, 1):
                rows.add("phases", process=self.process, memory="host", path=phase, phase=phase, step=step, steady=False,
                         count=1, peak_live=level - step, tensor_peak=0)
        for second in range(0, int(SECONDS), STEP):
            for wave in (0, 50 * MIB):  # each step goes up and down
                rows.add("samples", process=self.process, memory="host", measure="live", t=second + wave / MIB / 2,
                         bytes=self.parameters + wave + self.leak * second)
        if self.leak:
            rows.add("findings", process=self.process, id="leak-per-step", memory="host", bytes=self.leak + self.number)
        for measure, level in (("rss", self.peak), ("reserved", 3 * 1024 * MIB), ("tensor", 1024 * MIB)):
            rows.add("usage", process=self.process, memory="host" if measure == "rss" else "cuda:0", measure=measure,
                     seconds=SECONDS, byte_seconds=level * SECONDS, highest=level)


class Answers:
    """A process that writes and asks fleets, as the commands do. See programs/tools/fleet_answers.py."""

    def __init__(self, environment):
        self.process = subprocess.Popen([harness.torch_python(), harness.program("fleet_answers.py")], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, *words):
        print(json.dumps(words), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.communicate(timeout=60)


class FleetCase(exports.ExportCase):
    """A directory of Parquet, and the rows that a query gives."""

    answers = None  # of all cases
    known_header = None

    def setUp(self):
        super().setUp()
        self.files = os.path.join(self.scratch, "fleet")
        self.with_packages = harness.bare_environment(PYTHONPATH=os.pathsep.join(
            (harness.packages("datasets"), harness.packages("duckdb"), os.path.join(harness.ROOT, "python"))))

    def answer(self, *words):
        """Returns what the process that answers says, and starts it with the first request."""
        if FleetCase.answers is None:
            FleetCase.answers = Answers(self.with_packages)
            unittest.addModuleCleanup(FleetCase.answers.end)
        return FleetCase.answers(*words)

    def header(self):
        """Returns the first line of the stream of a real export."""
        if FleetCase.known_header is None:
            FleetCase.known_header = self.export_header()
        return FleetCase.known_header

    def export_header(self):
        self.run_in("traced", [harness.victim("known_memory")], self.environment(**harness.RECORD_ALL))
        save, stream = (os.path.join(self.scratch, name) for name in ("save", "stream"))
        with open(save, "w", encoding="utf-8") as file:
            file.write(SAVE)
        os.chmod(save, 0o755)
        subprocess.run([harness.COMMAND, "export", self.out, "--to", "parquet", "-o", "x", "--python", save], check=True,
                       env=harness.bare_environment(STREAM=stream), timeout=120)
        with open(stream, encoding="utf-8") as file:
            return json.loads(file.readline())

    def plant(self, job, faults, started=1000.0, more=0, ranks=RANKS, leave_out=()):
        """Writes the first ranks of a job, and returns their figures. `leave_out`: tables that stay empty."""
        rows = Rows(self.header(), leave_out)
        written = [Rank(number, faults) for number in range(ranks)]
        for rank in written:
            rank.write(rows, job, started, more)
        self.write(rows)
        return written

    def write(self, rows):
        stream = os.path.join(self.scratch, "rows")
        with open(stream, "w", encoding="utf-8") as file:
            file.write(rows.text())
        self.assertEqual(self.answer("write", self.files, stream), 0)

    def fleet(self, *words, status=0):
        """Returns what `memtrace fleet` writes, or its error."""
        done = subprocess.run([harness.COMMAND, "fleet", "--python", harness.torch_python(), *words], env=self.with_packages,
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=300,
                              cwd=self.scratch)
        self.assertEqual(done.returncode, status, done.stderr)
        if status == 0:
            self.assertEqual(done.stderr, "")
        return done.stdout if status == 0 else done.stderr

    def printed(self, *words, status=0):
        """Returns what `memtrace fleet` writes, or its error, without a process for each command."""
        out, err, ended = self.answer("print", words)
        self.assertEqual((ended, out if status else err), (status, ""), err)
        return err if status else out

    def asked(self, query, *directories, jobs=()):
        """Returns {"rows": ...}, or {"error": ...}."""
        return self.answer("ask", query, [self.files, *directories], list(jobs))

    def ask(self, query, *directories, jobs=()):
        answer = self.asked(query, *directories, jobs=jobs)
        self.assertEqual(list(answer), ["rows"], answer)
        return answer["rows"]

    def ask_command(self, query, *words):
        """As `ask`, but the command asks."""
        return json.loads(self.fleet(query, self.files, "--format", "json", *words))["rows"]

    def ask_spark(self, *names):
        """Returns the rows of each query by Spark."""
        path = self.with_packages["PYTHONPATH"] + os.pathsep + harness.packages("spark")
        done = subprocess.run([harness.torch_python(), "-c", ASK_SPARK, self.files, *names], capture_output=True, text=True,
                              check=False, env={**self.with_packages, "PYTHONPATH": path}, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


def python_path():
    """Returns the folder of the package, for programs that mark phases."""
    return os.path.join(harness.ROOT, "python")


def python():
    return sys.executable
