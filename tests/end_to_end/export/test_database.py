"""Purpose: tests the SQLite database with the shell of SQLite, against the report."""
import json
import os
import shutil
import subprocess
import unittest

import exports


class Database(exports.ExportCase):
    def rows(self, path, query):
        shell = shutil.which("sqlite3")
        if shell is None:
            self.skipTest("no sqlite3: scripts/setup installs it")
        done = subprocess.run([shell, "-readonly", "-json", path, query], capture_output=True, text=True, check=True,
                              timeout=60)
        return json.loads(done.stdout or "[]")

    def check_peaks(self, path, process, number):
        peaks = {(row["memory"], row["measure"]): row for row in self.rows(path, "SELECT p.*, SUM(h.bytes) AS held "
                 f"FROM peaks p LEFT JOIN holdings h USING (peak) WHERE process = {number} GROUP BY peak")}
        self.assertEqual({key: row["bytes"] for key, row in peaks.items()},
                         {(peak["memory"], peak["measure"]): peak["bytes"] for peak in process["peaks"]})
        for (_, measure), row in peaks.items():
            if measure in ("live", "tensor"):
                self.assertEqual(row["held"] or 0, row["bytes"])

    def check_levels(self, path, process, number):
        """The highest point of each series is the peak."""
        levels = {(row["memory"], row["measure"]): row["most"] for row in self.rows(
            path, f"SELECT memory, measure, MAX(bytes) AS most FROM levels WHERE process = {number} GROUP BY 1, 2")}
        for peak in process["peaks"]:
            if peak["measure"] in ("live", "tensor", "reserved") and peak["bytes"] > 0:
                self.assertEqual(levels[peak["memory"], peak["measure"]], peak["bytes"])

    def test_figures_equal_the_report(self):
        for name, traces in self.kinds():
            with self.subTest(name):
                path = self.export("sqlite", of=traces)
                self.assertEqual(self.rows(path, "PRAGMA integrity_check"), [{"integrity_check": "ok"}])
                report = self.report("--all-steps", path=traces)
                found = self.rows(path, "SELECT pid, kind FROM processes ORDER BY process")
                self.assertEqual(found, [{key: process[key] for key in ("pid", "kind")} for process in report["processes"]])
                for number, process in enumerate(report["processes"]):
                    self.check_peaks(path, process, number)
                    self.check_levels(path, process, number)
                    self.assertEqual(
                        self.rows(path, f"SELECT id, bytes FROM findings WHERE process = {number} ORDER BY rowid"),
                        [{key: finding[key] for key in ("id", "bytes")} for finding in process["findings"]])
                leading = exports.leading_peak(report["processes"][0])
                view = self.rows(path, "SELECT memory, measure, SUM(bytes) AS bytes FROM peak_by_role "
                                       f"WHERE process = 0 AND memory = '{leading[0]}'")
                self.assertEqual(tuple(view[0].values()), leading)

    def test_phases_and_ledgers_of_a_training(self):
        self.trace_training()
        process = self.report("--all-steps")["processes"][0]
        path = self.export("sqlite")
        expected = sorted((row["phase"], row["step"], row["peak_live"], row["tensor"]["net"], row["allocated"])
                          for row in process["phases"] if isinstance(row["step"], int) and "tensor" in row)
        self.assertTrue(expected)
        found = self.rows(path, "SELECT phase, step, peak_live, tensor_net, allocated FROM phases "
                                "WHERE step IS NOT NULL AND count > 0 ORDER BY 1, 2")
        self.assertEqual([tuple(row.values()) for row in found], expected)
        ledgers = self.rows(path, "SELECT scope, at, total, residual FROM ledgers")
        self.assertEqual(ledgers, [{key: ledger[key] for key in ("scope", "at", "total", "residual")}
                                   for ledger in process["ledger"] if ledger["scope"] != "family"])
        lines = {row["own_line"] for row in self.rows(path, "SELECT own_line FROM peak_by_line")}
        self.assertLessEqual({"train.py:3", "train.py:6", "train.py:7"}, lines)

    def test_needs_a_file_and_replaces_no_trace(self):
        self.trace_c()
        self.assertIn("a database is a file", self.command("export", self.out, "--to", "sqlite", status=2))
        trace = self.trace_files()[0]
        self.assertIn("does not replace", self.command("export", self.out, "--to", "sqlite", "-o", trace, status=2))
        missing = os.path.join(self.scratch, "no", "such.db")
        self.assertRegex(self.command("export", self.out, "--to", "sqlite", "-o", missing, status=2),
                         r"\Amemtrace: [^\n]*cannot be written[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
