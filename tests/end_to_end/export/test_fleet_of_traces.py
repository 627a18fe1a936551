"""Purpose: tests `memtrace fleet` over generated traces of 10, 24, 100 and 1,000 ranks, by DuckDB and by Spark.

Truth: the generator prints what it planted, and pandas reads the JSON of the report.
"""
import json
import os
import subprocess
import unittest

import fleets
import harness

GENERATOR = os.path.join(harness.BUILD, "tests", "bench_trace", "memtrace_fleet_trace")
FAULTS = {10: ("outlier=3:40", "leak=pp:1:65536", "half=1"),
          24: ("tp=2", "outlier=13:40", "leak=tp:1:65536", "half=2"),  # three axes, as 100 ranks have
          100: ("outlier=37:40", "leak=tp:1:65536", "half=7"),
          1000: ("outlier=37:40", "outlier=801:30", "leak=pp:1:65536", "half=7")}
ASKED = ("outliers", "growth", "hosts", "findings")
DAY = 86400


class Generated(fleets.FleetCase):
    def fleet_of(self, ranks, *planted):
        """Writes a fleet and its files. Returns what the generator knows about it."""
        self.new_scratch()
        self.files = os.path.join(self.scratch, "fleet")
        done = subprocess.run([GENERATOR, self.out, str(ranks), *planted], check=True, capture_output=True)
        exported = self.run_in("exported", [harness.COMMAND, "export", self.out, "--to", "parquet", "-o", self.files, "--python",
                                            harness.torch_python()], self.with_packages, text=True)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        return json.loads(done.stdout)

    def assert_names(self, truth):
        """The queries have exactly the faults of the truth."""
        rows = {query: self.ask(query) for query in ASKED}
        self.assertEqual({row["rank"] for row in rows["outliers"]}, {planted["rank"] for planted in truth["outliers"]})
        for planted in truth["outliers"]:
            row, = (row for row in rows["outliers"] if row["rank"] == planted["rank"])
            self.assertEqual((row["host"], row["place"]),
                             (planted["host"], f"pp{planted['pp']} tp{planted['tp']} dp{planted['dp']}"))
            self.assertAlmostEqual(row["more_bytes"], planted["more"], delta=planted["more"] * 0.05)
            self.assertEqual(row["line"], os.path.basename(planted["line"]))
        self.assertEqual([(row["grows"], row["ranks"], row["growing"]) for row in rows["growth"]],
                         [(f"{leak['axis']} {leak['place']}", len(leak["ranks"]), len(leak["ranks"])) for leak in truth["leaks"]])
        for row, leak in zip(rows["growth"], truth["leaks"]):
            self.assertAlmostEqual(row["median_a_day_bytes"], leak["bytes_per_day"], delta=leak["bytes_per_day"] / 4)
        self.assertEqual([(row["host"], row["differs_in"], row["here_bytes"] < row["others_bytes"], row["ranks"], row["first_rank"])
                          for row in rows["hosts"]],
                         [(planted["host"], "memory", True, len(planted["ranks"]), planted["ranks"][0])
                          for planted in truth["half_memory"]])
        self.assertEqual([(row["finding"], row["processes"], row["all_bytes"], row["line"]) for row in rows["findings"]],
                         [("leak-per-step", len(leak["ranks"]), leak["bytes_per_step"] * len(leak["ranks"]),
                           os.path.basename(leak["line"])) for leak in truth["leaks"]])

    def by_pandas(self):
        """Returns the answers of pandas, from the JSON of the report."""
        path = os.path.join(self.scratch, "report.json")
        self.command("report", self.out, "--format", "json", "-o", path)
        done = subprocess.run([harness.torch_python(), harness.program("fleet_by_pandas.py"), path], env=self.with_packages,
                              check=True, capture_output=True)
        return json.loads(done.stdout)

    def check_faults(self, ranks):
        truth = self.fleet_of(ranks, *FAULTS[ranks])
        self.assertTrue(truth["outliers"] and truth["leaks"] and truth["half_memory"])
        self.assert_names(truth)
        return truth

    def check(self, ranks):
        """A fleet with faults, and one without."""
        truth = self.check_faults(ranks)
        expected = self.by_pandas()
        self.assertEqual(expected["outliers"], sorted(planted["rank"] for planted in truth["outliers"]))
        self.assertEqual({f"{row['phase']}, {row['place']}": [row["ranks"], row["median_bytes"], row["highest_bytes"]]
                          for row in self.ask("peaks")}, expected["peaks"])
        self.assert_names(self.fleet_of(ranks))

    def test_10_ranks(self):
        self.check(10)

    def test_24_ranks(self):
        self.check_faults(24)

    @harness.only_in_long
    def test_100_ranks(self):
        self.check(100)

    @harness.only_in_long
    def test_1000_ranks(self):
        self.check(1000)

    @harness.only_in_long
    def test_spark_finds_the_same(self):
        for planted in (FAULTS[100], ()):
            self.fleet_of(100, *planted)
            expected = {query: next(iter(self.asked(query).values())) for query in fleets.QUERIES}  # rows, or what is lacking
            self.assertEqual([bool(expected[query]) for query in ASKED], [bool(planted)] * len(ASKED))
            self.assertIn("only one job is read", expected["regressions"])
            files, self.files = self.files, "file://" + self.files  # as an address
            found = self.ask_spark(*fleets.QUERIES)
            found["regressions"] = found["regressions"].replace(self.files, files)
            self.assertEqual(found, expected)
        self.with_packages["PYTHONPATH"] += os.pathsep + harness.packages("spark")
        refusal = self.fleet("peaks", "s3a://bucket/fleet", "--engine", "spark", status=2)
        self.assertRegex(refusal, r"\Amemtrace: fleet: peaks: [^\n]*S3AFileSystem[^\n]*\n\Z")  # its package is not there


if __name__ == "__main__":
    unittest.main()
