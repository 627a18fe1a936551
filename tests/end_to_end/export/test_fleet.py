"""Purpose: tests `memtrace fleet` over fleets with planted faults, and over ranks that were recorded."""
import csv
import io
import os
import statistics
import unittest

import fleets
import harness
from fleets import HOSTS, OUTLIER, QUERIES, RANKS, SECONDS, STEP
from harness import MIB

GIB_HOUR = 3600 * 1024 * MIB
FAULTS = ("growth", "hosts", "outliers")  # without a fault they have no row
RECORDED = """
import os, sys, time
if sys.argv[1:] == ["rank"]:
    import memtrace
    rank, world, leak = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), []
    with memtrace.phase("load"):
        kept = bytearray(70 << 20)
        more = bytearray((100 if rank == 1 else 0) << 20)
    pause = max(0.04, (time.time() - float(os.environ["STARTED"])) / 12)  # the steps take three times as long as the start
    for step in range(40):
        memtrace.step(step)
        with memtrace.phase("forward"):
            batch = bytearray(8 << 20)
            if rank * 2 >= world:
                leak.append(bytearray(1 << 20))
            time.sleep(pause)
            del batch
else:
    ranks = []
    world = int(sys.argv[1])
    for rank in range(world):
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), STARTED=str(time.time()))
        ranks.append(os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, __file__, "rank"]))
    for pid in ranks:
        os.waitpid(pid, 0)
"""


def chosen(rows, *columns):
    return [tuple(row[column] for column in columns) for row in rows]


class Planted(fleets.FleetCase):
    """The rows are written by hand, so each answer is a sum over the figures of fleets.Rank."""

    def test_a_fleet_with_faults(self):
        ranks = self.plant("a", faults=True)
        self.check_faults(ranks)
        self.check_peaks(ranks)
        self.check_sites(ranks)
        self.check_waste(ranks)
        self.check_headroom(ranks)
        self.check_text()
        leaks = [rank.leak + rank.number for rank in ranks if rank.leak]
        self.assertEqual(chosen(self.ask("findings"), "finding", "line", "processes", "all_bytes", "highest_bytes", "highest_rank"),
                         [("rank-copies", "train.py:30", None, 700 * MIB, None, None),
                          ("leak-per-step", "-", len(leaks), sum(leaks), max(leaks), RANKS - 1)])

    def check_faults(self, ranks):
        rank, on_host = ranks[OUTLIER], RANKS // HOSTS
        self.assertEqual(chosen(self.ask("outliers"), "rank", "host", "place", "memory", "held_bytes", "more_bytes",
                                "role", "line", "of_line_bytes"),
                         [(OUTLIER, "node0", f"pp{rank.pp} tp{rank.tp} dp{rank.dp}", "host", 800 * MIB, 300 * MIB, "unknown", "train.py:99",
                           300 * MIB)])
        self.assertEqual(chosen(self.ask("growth"), "memory", "grows", "ranks", "growing", "median_a_day_bytes"),
                         [("host", "tp 1", RANKS // 2, RANKS // 2, self.growth_of(4096))])
        self.assertEqual(chosen(self.ask("hosts"), "host", "differs_in", "here_bytes", "others_bytes", "ranks", "first_rank",
                                "last_rank"),
                         [("node2", "memory", 64 << 30, 128 << 30, on_host, 2 * on_host, 3 * on_host - 1),
                          ("node3", "page cache", 40 << 30, 2 << 30, on_host, 3 * on_host, 4 * on_host - 1)])

    def growth_of(self, leak):
        """The lowest level of each eighth from a half to nine tenths, by hand."""
        width = SECONDS * 0.4 / 8
        first = [next(second for second in range(0, int(SECONDS), STEP) if second >= SECONDS / 2 + part * width)
                 for part in (0, 7)]
        return int(leak * (first[1] - first[0]) / (7 * width) * 86400)

    def check_peaks(self, ranks):
        rows = {(row["phase"], row["place"]): row for row in self.ask("peaks")}
        groups = {"all ranks": ranks}
        for rank in ranks:
            for axis in ("pp", "tp", "dp"):
                groups.setdefault(f"{axis} {getattr(rank, axis)}", []).append(rank)
        self.assertEqual(set(rows), {(phase, place) for phase in ("load", "forward") for place in groups})
        for place, members in groups.items():
            for phase, level in (("load", "parameters"), ("forward", "peak")):
                levels = [getattr(rank, level) for rank in members]
                highest = next(rank.number for rank in members if getattr(rank, level) == max(levels))
                self.assertEqual(chosen([rows[phase, place]], "ranks", "median_bytes", "highest_bytes", "highest_rank"),
                                 [(len(members), int(statistics.median(levels)), max(levels), highest)])

    def check_sites(self, ranks):
        whole = sum(rank.peak for rank in ranks)
        lines = {"train.py:10": sum(rank.parameters for rank in ranks), "train.py:20": RANKS * 100 * MIB, "train.py:99": 300 * MIB}
        rows = self.ask("sites")
        self.assertEqual(chosen(rows, "line", "all_ranks_bytes"), sorted(lines.items(), key=lambda line: -line[1]))
        for row in rows:
            self.assertAlmostEqual(row["of_all_percent"], 100 * lines[row["line"]] / whole, places=5)
        self.assertEqual(chosen(rows[2:], "processes", "highest_bytes", "highest_rank"), [(1, 300 * MIB, OUTLIER)])

    def check_waste(self, ranks):
        rows = {row["waste"]: row for row in self.ask("waste")}
        retained = sum(rank.retained for rank in ranks) * SECONDS / GIB_HOUR  # not that of the end
        rounded = sum(1024 * (3 if rank.extra else 2) for rank in ranks) * SECONDS / GIB_HOUR
        reserved = RANKS * 2 * 1024 * MIB * SECONDS / GIB_HOUR
        for name, hours in (("retained by the allocator", retained), ("rounded up", rounded),
                            ("reserved by the allocator", reserved)):
            self.assertAlmostEqual(rows.pop(name)["wasted_gib_hours"] / hours, 1, places=6)
        self.assertEqual(rows, {})

    def check_headroom(self, ranks):
        host, gpu = sorted(self.ask("headroom"), key=lambda row: row["memory"], reverse=True)
        hosts = {rank.host: rank.memory - max(other.peak for other in ranks if other.host == rank.host) for rank in ranks}
        self.assertAlmostEqual(host["headroom_gib_hours"], sum(hosts.values()) * SECONDS / GIB_HOUR, places=4)
        self.assertEqual(chosen([host], "limits", "least_free_bytes", "on_host"), [(4, hosts["node2"], "node2")])
        free = [60 - rank.number for rank in ranks]  # GiB
        self.assertAlmostEqual(gpu["headroom_gib_hours"], sum(free) * SECONDS / 3600, places=4)
        self.assertEqual(chosen([gpu], "limits", "least_free_bytes", "on_host"), [(RANKS, min(free) << 30, "node3")])

    def test_a_fleet_without_a_fault_has_no_row(self):
        self.plant("a", faults=False)
        self.assertEqual([self.ask(query) for query in FAULTS], [[]] * len(FAULTS))
        self.assertEqual(self.ask("findings"), [{"job": "a", "finding": "rank-copies", "memory": "host", "line": "train.py:30",
                                                 "processes": None, "all_bytes": 700 * MIB, "highest_bytes": None,
                                                 "highest_rank": None}])
        self.assertEqual(self.printed("outliers", self.files), "outliers: no row\n")

    def test_regressions_between_two_jobs(self):
        self.plant("old", faults=True, started=500.0, ranks=2)
        self.plant("first run", faults=False, started=1000.0, ranks=2)
        self.plant("second/run", faults=False, started=2000.0, more=64 * MIB, ranks=2)
        columns = "before_job", "after_job", "memory", "line", "role", "before_bytes", "after_bytes", "more_bytes"
        expected = ("second/run", "host", "train.py:20", "activation", 100 * MIB, 164 * MIB, 64 * MIB)
        self.assertEqual(chosen(self.ask("regressions"), *columns), [("first run", *expected)])
        self.assertEqual(chosen(self.ask("regressions", jobs=["old", "second/run"]), *columns), [("old", *expected)])
        self.assertEqual({row["job"] for row in self.ask_command("sites", "--job", "second/run")}, {"second/run"})
        self.assertIn("before job first run, after job second/run\n", self.printed("regressions", self.files))

    def test_names_of_jobs(self):
        """A job has any name. What is too long for a file gets a hash, so that two jobs stay two."""
        names = ["ж" * 60, "a/../..", "..", "q'\"; DROP TABLE jobs --", "%2F", "two\nlines\x1b[31m", "\u202e", " ", "*?[a-z]=1"]
        long = ["*" * 128 + "1", "*" * 128 + "2", "n" * 10000, "ж" * 4000]
        rows = fleets.Rows(self.header())
        for name in names + long:
            fleets.Rank(0, False).write(rows, name, 1000.0, 0)
        self.write(rows)
        jobs = {row["job"] for row in self.ask("headroom")}
        self.assertLessEqual(set(names), jobs)
        self.assertEqual(len(jobs), len(names + long))
        for name in names[:5]:
            self.assertEqual({row["job"] for row in self.ask("headroom", jobs=[name])}, {name})
        text = self.fleet("headroom", self.files)
        self.assertNotIn("\x1b", text)

    @harness.only_in_long
    def test_two_directories_are_one_fleet(self):
        self.plant("a", faults=False)
        first, self.files = self.files, os.path.join(self.scratch, "other")
        self.plant("b", faults=True)
        self.assertEqual({row["job"] for row in self.ask("sites", first)}, {"a", "b"})
        self.assertEqual({row["job"] for row in self.ask("outliers", first)}, {"b"})
        self.assertEqual({row["job"] for row in self.ask("sites", "file://" + first)}, {"a", "b"})  # as an address

    def check_text(self):
        for query in QUERIES:
            text = self.printed(query, self.files) if query != "regressions" else self.printed(query, self.files, status=2)[:100]
            self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
        rows = list(csv.DictReader(io.StringIO(self.printed("sites", self.files, "--format", "csv"))))
        self.assertEqual([{name: str(value) for name, value in row.items()} for row in self.ask("sites")], rows)
        self.assertEqual(self.ask_command("sites"), self.ask("sites"))
        text = self.printed("outliers", self.files)
        self.assertIn("job a\n", text)
        self.assertRegex(text, r"\n +1  pp0 tp1 dp0  node0  host +800\.0 MiB  300\.0 MiB  unknown  train\.py:99 ")
        text = self.printed("peaks", self.files, "--rows", "2")
        self.assertRegex(text, r"\nand \d+ more rows: --rows \d+, or --format csv\n\Z")

    def test_a_query_of_the_user(self):
        self.plant("a", faults=False, ranks=2)
        path = os.path.join(self.scratch, "mine.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write("SELECT p.host, COUNT(*) AS ranks FROM processes p GROUP BY 1 ORDER BY 1;\n")
        self.assertEqual(self.ask_command("mine.sql"), [{"host": "node0", "ranks": 2}])

    @harness.only_in_long
    def test_spark_gives_the_same_rows(self):
        spark = harness.packages("spark")
        for job, faults, more in (("a b", True, 0), ("c", False, 64 * MIB)):
            self.plant(job, faults, started=1000.0 + more, more=more)
        expected = {query: self.ask(query) for query in QUERIES}
        self.assertTrue(all(expected.values()), expected)
        self.assertEqual(self.ask_spark(*QUERIES), expected)
        self.with_packages["PYTHONPATH"] += os.pathsep + spark
        self.assertEqual(self.ask_command("outliers", "--engine", "spark", "--master", "local[2]", "--job", "a b"), expected["outliers"])


class Recorded(fleets.FleetCase):
    WORLD, GRID = (8, {"pp": 2, "dp": 2, "tp": 2}) if harness.ALL else (4, {"pp": 2, "dp": 1, "tp": 2})

    def setUp(self):
        super().setUp()
        path = os.path.join(self.scratch, "ranks.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(RECORDED)
        grid = ",".join(f"{axis}={size}" for axis, size in self.GRID.items())
        _, self.job = self.trace([fleets.python(), path, str(self.WORLD)],
                                 {**harness.RECORD_ALL, "PYTHONPATH": fleets.python_path(), "MEMTRACE_RANKS": grid})
        self.command_with_packages("export", self.out, "--to", "parquet", "-o", self.files, "--python", harness.torch_python())
        self.ranks = {process["rank"]: process for process in self.job["processes"] if process["rank"] is not None}

    def command_with_packages(self, *words):
        done = self.run_in("exported", [harness.COMMAND, *words], self.with_packages, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_ranks_that_were_recorded(self):
        self.assertEqual(sorted(self.ranks), list(range(self.WORLD)))
        row, = self.ask("outliers")
        self.assertEqual((row["rank"], row["place"], row["line"]), (1, "pp0 tp1 dp0", "ranks.py:8"))
        self.assertAlmostEqual(row["of_line_bytes"], 100 * MIB, delta=8192)  # with the head of the block
        half = self.WORLD // 2
        self.assertEqual(chosen(self.ask("growth"), "grows", "ranks", "growing"), [("pp 1", half, half)])
        self.assertIn("these files have no job with two hosts", self.asked("hosts")["error"])
        self.check_peaks()
        self.check_findings()
        self.check_levels()

    def check_peaks(self):
        """Against the JSON of the report."""
        highest = {}
        for number, process in self.ranks.items():
            self.assertEqual(process["coordinates"], {"pp": number * 2 // self.WORLD, "dp": number // 2 % self.GRID["dp"],
                                                      "tp": number % 2})
            for phase in process["phases"]:
                if phase["memory"] == "host" and phase.get("count") and phase.get("peak_live"):
                    for place in ("all ranks", *(f"{axis} {at}" for axis, at in process["coordinates"].items())):
                        highest.setdefault((phase["phase"], place), {}).setdefault(number, []).append(phase["peak_live"])
        rows = {(row["phase"], row["place"]): row for row in self.ask("peaks")}
        for key, levels in highest.items():
            self.assertEqual(rows[key]["highest_bytes"], max(max(one) for one in levels.values()), key)
            self.assertEqual(rows[key]["ranks"], len(levels), key)
        self.assertEqual({row["ranks"] for row in rows.values() if row["place"] == "all ranks"}, {self.WORLD})  # without the launcher
        self.assertIn(("forward", "pp 1"), highest)

    def check_findings(self):
        """Those of a rank and those of the job, against the JSON of the report."""
        expected = {(finding["id"], None): finding["bytes"] for finding in self.job["findings"]}
        self.assertIn(("rank-copies", None), expected)
        found = {}
        for process in self.ranks.values():
            for finding in process["findings"]:
                found.setdefault(finding["id"], []).append(finding["bytes"])
        expected.update({(name, len(sizes)): sum(sizes) for name, sizes in found.items()})
        self.assertIn(("leak-per-step", self.WORLD // 2), expected)
        self.assertEqual({(row["finding"], row["processes"]): row["all_bytes"] for row in self.ask("findings")}, expected)

    def check_levels(self):
        """The sum of a level over time, against the levels at single times."""
        usage = self.rows_of("SELECT p.process, p.duration, u.seconds, u.byte_seconds, u.highest FROM usage u JOIN processes p "
                             "ON p.process = u.process AND p.job = u.job "
                             "WHERE p.rank IS NOT NULL AND u.memory = 'host' AND u.measure = 'live'")
        self.assertEqual(len(usage), self.WORLD)
        points = self.points_of_database() if harness.ALL else self.points_of_samples()
        for row in usage:
            self.check_sum(row, points[row["process"].rpartition("/")[2]])

    def check_sum(self, row, points):
        ends = [t for t, _ in points[1:]] + [row["duration"]]
        total = sum((end - t) * level for (t, level), end in zip(points, ends))
        # The database has nearly all levels, the samples those of 256 intervals.
        self.assertAlmostEqual(row["byte_seconds"] / total, 1, delta=0.005 if harness.ALL else 0.02)
        self.assertEqual(row["highest"], max(level for _, level in points))
        self.assertAlmostEqual(row["seconds"], row["duration"] - points[0][0], places=6)

    def rows_of(self, sql):
        path = os.path.join(self.scratch, "mine.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(sql)
        return self.ask(path)

    def points_of_samples(self):
        """Returns times and levels by pid."""
        out = {}
        for row in self.rows_of("SELECT s.process, s.t, s.bytes FROM samples s WHERE s.memory = 'host' AND s.measure = 'live' "
                                "ORDER BY s.t"):
            out.setdefault(row["process"].rpartition("/")[2], []).append((row["t"], row["bytes"]))
        return out

    def points_of_database(self):
        path = os.path.join(self.scratch, "run.db")
        self.command("export", self.out, "--to", "sqlite", "-o", path)
        import sqlite3  # pylint: disable=import-outside-toplevel
        out = {}
        with sqlite3.connect(path) as database:
            for pid, t, level in database.execute("SELECT p.pid, l.t, l.bytes FROM levels l JOIN processes p ON p.process = l.process "
                                                  "WHERE l.memory = 'host' AND l.measure = 'live' ORDER BY l.t"):
                out.setdefault(str(pid), []).append((t, level))
        return out


class Refusals(fleets.FleetCase):
    """Each is one line."""

    def refused(self, *words, by_command=True):
        text = (self.fleet if by_command else self.printed)(*words, status=2)
        self.assertRegex(text, r"\Amemtrace: [^\n]*\n\Z")
        return text

    def test_what_is_wrong_is_said_in_one_line(self):
        self.assertIn("--list", self.refused())
        self.assertIn("fleet: no such directory", self.refused("peaks"))
        self.assertIn("--engine spark", self.refused("peaks", self.scratch, "--master", "yarn"))
        for part, *words in (("there are findings, growth", "nonsense", self.scratch), ("no such directory", "peaks", "nowhere"),
                             ("--to parquet", "peaks", self.scratch), ("No such file", "none.sql", self.scratch)):
            self.assertIn(part, self.refused(*words, by_command=False))
        os.makedirs(os.path.join(self.files, "processes"))
        self.assertIn("has no table peaks, which the query reads", self.refused("waste", self.files, by_command=False))

    def test_an_error_of_the_query(self):
        self.plant("a", faults=False, ranks=1)
        with open(os.path.join(self.scratch, "wrong.sql"), "w", encoding="utf-8") as file:
            file.write("SELECT nothing FROM peaks")
        self.assertIn('"nothing"', self.asked(os.path.join(self.scratch, "wrong.sql"))["error"])

    def test_a_package_is_missing(self):
        self.plant("a", faults=False, ranks=1)
        self.with_packages = harness.bare_environment(PYTHONPATH=fleets.python_path())
        self.assertRegex(self.refused("peaks", self.files), r"no package duckdb.*libmemtrace\[fleet\]")
        self.assertRegex(self.refused("peaks", self.files, "--engine", "spark"), r"no package pyspark.*libmemtrace\[spark\]")
        self.with_packages = harness.bare_environment()
        self.assertRegex(self.refused("peaks", self.files), r"no package memtrace.*libmemtrace\[fleet\]")

    def test_the_list(self):
        lines = self.fleet("--list").splitlines()
        self.assertEqual([line.split()[0] for line in lines], list(QUERIES))
        self.assertTrue(all(20 < len(line) <= 100 and line.endswith(".") for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
