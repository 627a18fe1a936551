"""Purpose: tests which process of a job died first, which only followed, and their memory together.

Truth: the kernel's log and counters, the cgroup's charge, and the programs' known actions.
"""
import re
import signal
import unittest

import cgroup
import deaths
import harness


class Family(deaths.Case):
    def run_family_of(self, command, group):
        """Runs a program in which the kernel chooses one process first (oom_score_adj). It may choose another in the
        instant before the memory of the first is returned: then this run shows nothing."""
        done = self.run_in("traced", group.inside(command), self.environment(MEMTRACE_QUIET="1"))
        killed = cgroup.kills(group.path)
        self.assertEqual(len(killed), group.kills(), "the kernel's log and its counter")
        if len(killed) > 1:
            self.skipTest("the kernel killed a second process: " + "; ".join(
                f"pid {pid} at {re.search(r'[0-9.]+', line)[0]} s" for line, pid in killed))
        return done

    def run_family(self, *arguments, group):
        """Returns the pid of the killed child."""
        done = self.run_family_of(["python3", harness.program("family.py"), *arguments], group)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        _, pid, status = done.stdout.split()
        self.assertEqual(int(status), -signal.SIGKILL)
        return int(pid)

    def assert_only_one(self, pid, processes=4):
        report = self.postmortem()
        ends = {process["pid"]: process["end"]["how"] for process in report["processes"]}
        self.assertEqual(len(ends), processes)
        self.assertEqual([one for one in ends if ends[one] == "oom_kill"], [pid])
        self.assertEqual({how for one, how in ends.items() if one != pid}, {"exit"})
        text = self.postmortem_text()
        self.assertTrue(text.startswith("Killed for memory (certain)"), text)
        self.assertIn(f"pid {pid} ", text.splitlines()[1] + text.splitlines()[2])
        self.assertIn("no process of the job died earlier", text)
        return report

    def assert_adds_up(self, report):
        """All processes of the job are in the ledger of the full cgroup; forked processes share some pages."""
        [ledger] = report["ledger"]
        self.assertEqual((ledger["scope"], ledger["at"]), ("cgroup", "death"))
        self.assertEqual(ledger["total"] - sum(row["bytes"] for row in ledger["rows"]), ledger["residual"])
        # A forked process shares at most the main process's pages with it, and both count them.
        [main] = [row["bytes"] for row in ledger["rows"] if row["name"].startswith("main ")]
        shared = main * sum(process["kind"] != "main" for process in report["processes"])
        self.assertLess(ledger["residual"], ledger["total"] / 10, ledger)
        self.assertGreater(ledger["residual"], -shared - ledger["total"] / 10, ledger)
        names = " ".join(row["name"] for row in ledger["rows"])
        for process in report["processes"]:
            if process["end"]["how"] == "oom_kill":
                self.assertIn(f"pid {process['pid']}", names)

    def test_a_child_in_a_group_of_its_own(self):
        outer = self.group()
        inner = self.group("128M", below=outer)
        report = self.assert_only_one(self.run_family("3", "1", "400", "--enter", inner.directory, group=outer))
        self.assertEqual(report["ledger"][0]["scope"], "family", "no sample was taken in the group that was full")

    def test_a_child_in_the_group_of_all(self):
        self.assert_adds_up(self.assert_only_one(self.run_family("3", "1", "900", group=self.group("512M"))))

    def test_a_worker_of_a_loader(self):
        """PyTorch tells the main process that a worker was killed, but not why; the main process gives up. If it is
        receiving from the worker at that moment, it gives up because the connection is lost, and names no pid."""
        group = self.group("1200M")
        done = self.run_family_of([harness.torch_python(), harness.program("loader.py")], group)
        self.assertEqual(done.returncode, 1)
        worker = int(done.stdout)
        report = self.postmortem()
        killed = [process for process in report["processes"] if process["end"]["how"] == "oom_kill"]
        self.assertEqual([worker], [pid for _, pid in cgroup.kills(group.path)])
        self.assertEqual([process["pid"] for process in killed], [worker])
        self.assertEqual((killed[0]["kind"], report["first"]), ("worker", killed[0]["pid"]))
        self.assertEqual(killed[0]["death"]["phase"], "data")
        self.assertIn("loader.py", str(deaths.lines_of(killed[0]["death"]["filling"]["site"])))
        [main] = [process for process in report["processes"] if process["kind"] == "main"]
        self.assertEqual((main["end"]["how"], main["end"]["code"], main["death"]), ("exit", 1, None))
        self.assertEqual(main["findings"], [])
        self.assertRegex(self.postmortem_text(), rf"main pid {main['pid']} +[0-9.]+  exited with 1, .* later: a consequence")
        self.assert_adds_up(report)


if __name__ == "__main__":
    unittest.main()
