"""Purpose: tests what a fleet query says if the files lack what it needs, and the same queries in Python."""
import os
import unittest

import fleets
import python_package
from fleets import HOSTS, QUERIES, RANKS


class Lacks(fleets.FleetCase):
    """A query that has no row because of what was exported says so, and names the way out."""

    # Of a rank alone, from whose files most tables are left out.
    OF_ONE_RANK = {"growth": "no samples of a rank; export a trace that memtrace run recorded: ",
                   "headroom": "it reads limits, and these files have none",
                   "hosts": "no job with two hosts whose memory is known; export the traces of all hosts",
                   "outliers": "no stage in these files has two ranks; export the traces of all ranks",
                   "peaks": "no phase; mark phases in the program: with memtrace.phase(",
                   "regressions": "only one job is read; export another job, too: ",
                   "sites": "it reads the blocks at a peak, and these files have none",
                   "waste": "it reads ledgers, blocks at a peak and reserved memory, and these files have none of them"}

    def lack(self, query, **more):
        """Returns what the query says, which is one line."""
        text = self.asked(query, **more)["error"]
        self.assertRegex(text, rf"\A{query}: it [^\n;]*; [^\n]*\Z")
        return text

    def test_each_query_says_what_the_files_lack(self):
        self.plant("a", faults=True, ranks=1, leave_out=("headroom", "job_findings", "ledgers", "peaks", "phases", "samples", "usage"))
        self.assertEqual([*self.OF_ONE_RANK, "findings"], [*(query for query in QUERIES if query != "findings"), "findings"])
        for query, text in self.OF_ONE_RANK.items():
            said = self.lack(query)
            self.assertIn(text, said)
            if query != "peaks":
                self.assertIn(f"memtrace export TRACE --to parquet -o {self.files}", said)
        self.assertEqual(self.ask("findings"), [])  # it is the answer

    def test_two_ranks_without_blocks(self):
        self.plant("a", faults=False, ranks=2, leave_out=("peaks",))
        self.assertIn("it reads the blocks at a peak", self.lack("outliers"))
        self.plant("b", faults=False, ranks=2, leave_out=("peaks",))
        self.assertIn("it reads the blocks at a peak", self.lack("regressions"))

    def test_regressions_of_one_job(self):
        """The command refuses it in each format, and names both ways out."""
        self.plant("a", faults=True, ranks=2)
        for ask, words in ((self.fleet, ()), (self.printed, ("--format", "json")), (self.printed, ("--format", "csv"))):
            text = ask("regressions", self.files, *words, status=2)
            self.assertRegex(text, r"\Amemtrace: fleet: regressions: it compares [^\n]*\n\Z")
            self.assertIn(f"memtrace export TRACE --to parquet -o {self.files}; or name its directory, too: "
                          f"memtrace fleet regressions {self.files} DIR\n", text)
        self.plant("b", faults=False, started=2000.0, ranks=2)
        self.assertEqual(self.ask("regressions"), [])  # with the second job, it is the answer
        self.assertIn("name another one as well: --job b --job JOB; or leave --job out", self.lack("regressions", jobs=["b"]))
        self.assertEqual(self.asked("sites", jobs=["b", "c"]), {"error": f"--job c: {self.files} has no such job; it has a, b"})
        path = os.path.join(self.scratch, "regressions.sql")  # of the user: nothing is known about it
        with open(path, "w", encoding="utf-8") as file:
            file.write("SELECT p.host FROM processes p WHERE p.host = 'none'")
        self.assertEqual(self.ask(path, jobs=["b"]), [])


class Package(fleets.FleetCase):
    """memtrace.fleet, as programs use it."""

    def test_the_example_of_the_page(self):
        self.plant("a", faults=True, ranks=4)
        (example,) = [text for language, text in python_package.blocks_of_code("fleet.md") if language == "python"]
        out = self.answer("run", self.scratch, example + "out = [row, ranks.to_dict('list'), len(answer), answer.columns, repr(answer)]")
        self.assertEqual(out[0], self.ask("outliers")[0])
        self.assertEqual(out[1], {"host": [f"node{host}" for host in range(4 * HOSTS // RANKS)],
                                  "ranks": [RANKS // HOSTS] * (4 * HOSTS // RANKS)})
        self.assertEqual(out[2:], [1, list(out[0]), "<memtrace.fleet.Answer of outliers: 1 rows>"])

    def test_what_it_raises(self):
        self.plant("a", faults=True, ranks=1)
        out = self.answer("run", self.scratch, """
from memtrace import fleet
out = []
for call in (lambda: fleet.query("outliers"), lambda: fleet.query("nonsense"), lambda: fleet.sql("SELECT nothing FROM peaks"),
             lambda: fleet.query("sites", engine="mine")):
    try:
        call()
    except fleet.QueryError as error:
        out.append([type(error).__name__, str(error), list(getattr(error, "answer", fleet.Answer("", (), ())).columns)])
""")
        self.assertEqual([kind for kind, _, _ in out], ["NoAnswer", "QueryError", "QueryError", "QueryError"])
        for (_, text, _), part in zip(out, ("-o fleet", "there are findings, growth", '"nothing"', "duckdb, spark")):
            self.assertIn(part, text)
        self.assertEqual(out[0][2][:3], ["job", "rank", "place"])


if __name__ == "__main__":
    unittest.main()
