"""Purpose: tests the files of Parquet by pyarrow, against the report."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import exports
import harness

TABLES = ("jobs", "processes", "phases", "peaks", "ledgers", "findings", "samples", "usage", "headroom", "job_findings")
READ = """
import json, sys
import pyarrow.dataset
parts = [("job", pyarrow.string()), ("rank", pyarrow.int64())]
def rows(name):
    hive = pyarrow.dataset.partitioning(pyarrow.schema(parts[:1 if name in ("jobs", "job_findings") else 2]), flavor="hive")
    return pyarrow.dataset.dataset(f"{sys.argv[1]}/{name}", format="parquet", partitioning=hive).to_table().to_pylist()
print(json.dumps({name: rows(name) for name in sys.argv[2:]}))
"""
RANKS = """
import os, sys
if len(sys.argv) > 1:
    kept = bytearray(int(sys.argv[1]) << 20)
else:
    for rank in range(3):
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="3")
        os.spawnv(os.P_WAIT, sys.executable, [sys.executable, __file__, str(40 + rank)])
"""


class Parquet(exports.ExportCase):
    def setUp(self):
        super().setUp()
        self.python = harness.torch_python()
        self.packages = os.pathsep.join((harness.packages("datasets"), os.path.join(harness.ROOT, "python")))
        self.files = os.path.join(self.scratch, "fleet")

    def write(self, *options, status=0):
        done = subprocess.run([harness.COMMAND, "export", self.out, "--to", "parquet", "-o", self.files, "--python", self.python,
                               *options], env=harness.bare_environment(PYTHONPATH=self.packages),
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        return done.stderr

    def rows(self):
        """Returns the rows of each table. A dataset leaves out what begins with a dot."""
        done = subprocess.run([self.python, "-c", READ, self.files, *TABLES], capture_output=True, text=True, check=False,
                              env=harness.bare_environment(PYTHONPATH=self.packages), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def trace_ranks(self):
        path = os.path.join(self.scratch, "ranks.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(RANKS)
        self.trace([sys.executable, path], harness.RECORD_ALL)

    def check(self, rows, report):
        self.assertEqual(sorted((row["id"], row["bytes"]) for row in rows["job_findings"]),
                         sorted((finding["id"], finding["bytes"]) for finding in report["findings"]))
        known = {f"{process['host']}/{process['pid']}": process for process in report["processes"]}
        self.assertEqual({row["process"] for row in rows["processes"]}, set(known))
        for name, process in known.items():
            row, = (row for row in rows["processes"] if row["process"] == name)
            self.assertEqual((row["job"], row["rank"], row["kind"], row["end_how"], row["events"]),
                             (report["job"]["id"], process["rank"], process["kind"], process["end"]["how"],
                              process["trace"]["events"]))
            held, highest = {}, {}
            for peak in (row for row in rows["peaks"] if row["process"] == name):
                held[peak["memory"], peak["measure"]] = held.get((peak["memory"], peak["measure"]), 0) + peak["bytes"]
            self.assertEqual(held, {(peak["memory"], peak["measure"]): peak["bytes"] for peak in process["peaks"]})
            for point in (row for row in rows["samples"] if row["process"] == name):
                key = point["memory"], point["measure"]
                highest[key] = max(highest.get(key, 0), point["bytes"])
            self.assertEqual(highest["host", "live"], held["host", "live"])
            self.assertEqual(sorted((row["id"], row["bytes"]) for row in rows["findings"] if row["process"] == name),
                             sorted((finding["id"], finding["bytes"]) for finding in process["findings"]))
            self.check_ledgers(rows, name)
            self.check_usage(rows, process, name, highest)

    def check_usage(self, rows, process, name, highest):
        self.assertEqual({(row["memory"], row["measure"]): row["highest"] for row in rows["usage"] if row["process"] == name},
                         highest)
        self.assertEqual(sorted((row["limit_of"], row["name"], row["limit_bytes"], row["needed_bytes"], row["used_bytes"])
                                for row in rows["headroom"] if row["process"] == name),
                         sorted((one["of"], one["name"], one["limit"], one["needed"], one["used"])
                                for one in process["headroom"]))

    def check_ledgers(self, rows, name):
        """The rows of a ledger, with its residual, add up to its total."""
        sums = {}
        for row in (row for row in rows["ledgers"] if row["process"] == name):
            key = row["scope"], row["memory"], row["at"], row["total"]
            sums[key] = sums.get(key, 0) + row["bytes"]
        self.assertTrue(all(key[3] == total for key, total in sums.items()), sums)

    def test_ranks_equal_the_report_and_a_second_export_replaces_them(self):
        self.trace_ranks()
        self.write()
        first = self.rows()
        self.check(first, self.report())
        self.assertEqual(sorted(row["rank"] for row in first["processes"] if row["rank"] is not None), [0, 1, 2])
        self.assertEqual(len(first["jobs"]), 1)
        self.write()
        self.assertEqual(self.rows(), first)
        self.assertEqual([name for name in os.listdir(self.files) if name.startswith(".")], [])

    def test_phases_of_a_training(self):
        self.trace_training()
        self.write()
        rows = self.rows()
        report = self.report()
        self.check(rows, report)
        expected = sorted((row["phase"], row["step"], row["peak_live"], row["tensor"]["net"], row["allocated"])
                          for row in report["processes"][0]["phases"] if isinstance(row["step"], int) and "tensor" in row)
        self.assertTrue(expected)
        self.assertEqual(sorted((row["phase"], row["step"], row["peak_live"], row["tensor_net"], row["allocated"])
                                for row in rows["phases"] if row["step"] is not None and row["count"]), expected)

    def test_an_export_that_fails_changes_no_file(self):
        """The stream ends early: there is no last line."""
        self.trace_c()
        self.write()
        first = self.rows()
        header = {"schema": "memtrace.rows/1", "tables": {"jobs": {"by_rank": False, "columns": [["attempt", "int64"]]}}}
        lines = [header, {"job": first["jobs"][0]["job"], "rank": None}, ["jobs", 7]]
        done = subprocess.run([self.python, "-c", "import sys; from memtrace.fleet.parquet_files import main; "
                               "sys.exit(main(sys.argv[1:]))", self.files],
                              input="".join(json.dumps(line) + "\n" for line in lines), text=True, capture_output=True,
                              check=False, env=harness.bare_environment(PYTHONPATH=self.packages))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.rows(), first)
        self.assertEqual(sorted(os.listdir(self.files)), sorted(TABLES))

    def test_what_is_missing_is_said_in_one_line(self):
        self.trace_c()
        shutil.copytree(os.path.join(harness.ROOT, "python", "memtrace"), os.path.join(self.scratch, "alone", "memtrace"))
        self.packages = os.path.join(self.scratch, "alone")
        refusal = self.write(status=2)
        self.assertRegex(refusal, r"\Amemtrace: export: [^\n]*no package pyarrow[^\n]*libmemtrace\[fleet\][^\n]*\n\Z")
        self.packages = ""
        self.assertRegex(self.write(status=2), r"\Amemtrace: export: [^\n]*no package memtrace[^\n]*\n\Z")
        self.assertIn("--python FILE", self.write("--python", "/no/python", status=2))
        self.assertRegex(self.command("export", self.out, "--to", "parquet", status=2),
                         r"\Amemtrace: --to parquet: writes a directory[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
