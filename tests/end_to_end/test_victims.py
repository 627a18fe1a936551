"""Job: each victim tells the same with and without the tracer, and what was recorded of it can be read."""
import glob
import shutil
import unittest

import compare
import harness

# (victim, arguments). What ends by a signal, by a raw exit or in another process may leave its rings: that
# is how a kill is survived.
ORDERLY = [
    ("throw",), ("fork",), ("vfork_exec",), ("exec_fail",), ("exec_chain",), ("signal_malloc",), ("longjmp",),
    ("threads",), ("realloc_race",), ("aligned",), ("heap_edges",), ("dlopen",), ("weak",), ("tls_end",), ("chdir",),
    ("unshare",), ("next_fd",), ("own_malloc",), ("environment",), ("fork_race",),
    ("exits", "return"), ("exits", "exit"), ("exits", "_exit"), ("exits", "quick_exit"), ("exits", "thread_exit"),
    ("exits", "pthread_exit"),
]
LARGE = [("maps",), ("stacks",), ("marks",), ("small_stack",)]  # above the default MEMTRACE_MIN_PEAK, or marked
ABRUPT = [
    ("exits", "abort"), ("exits", "segv"), ("exits", "term"), ("clone_vm",), ("daemonise",), ("close_all",), ("raw_exit",),
    ("limits", "nofile"), ("limits", "as"), ("limits", "fsize"),
]


class Victims(compare.InvisibleCase):
    """Filled below, one test for each victim."""


def add(arguments, kind):
    def test(self):
        command = [harness.victim(arguments[0]), *arguments[1:]]
        if kind != "abrupt":
            self.check(command, records=kind == "large")
            return
        bare = self.bare(command)
        for settings in ({}, harness.RECORD_ALL):
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.run_in("traced", command, self.environment(**settings))
            self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
        self.report()

    setattr(Victims, "test_" + "_".join(arguments).replace("__", "_"), test)


for arguments in ORDERLY:
    add(arguments, "orderly")
for arguments in LARGE:
    add(arguments, "large")
for arguments in ABRUPT:
    add(arguments, "abrupt")


class Levels(harness.Case):
    """Figures of victims whose memory is known."""

    def test_a_reservation_is_not_memory(self):
        done, report = self.trace([harness.victim("maps")], harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0)
        process = self.only_process(report)
        # 64 MiB moved and its old place kept, nothing else of that size; not the 64 GiB.
        self.assertGreaterEqual(harness.peak(process), 128 * harness.MIB)
        self.assertLess(harness.peak(process), 140 * harness.MIB)
        self.assert_nothing_lost(process)

    def test_mappings_of_a_program_with_another_allocator(self):
        """Its first call of all maps inside the allocator; that is over when the program's own mappings come."""
        library = next(iter(sorted(glob.glob("/usr/lib/*/libjemalloc.so.2"))), None)
        if library is None:
            self.skipTest("no libjemalloc.so.2 is installed")
        both = {**self.environment(**harness.RECORD_ALL), "LD_PRELOAD": f"{harness.LIBRARY}:{library}"}
        done = self.run_in("traced", [harness.victim("maps")], both)
        self.assertEqual(done.returncode, 0)
        self.assertGreaterEqual(harness.peak(self.only_process(self.report())), 128 * harness.MIB)

    def test_how_it_ended(self):
        for way, how, code in (("exit", "exit", 11), ("_exit", "exit", 12), ("quick_exit", "exit", 13),
                               ("thread_exit", "exit", 14), ("return", "exit", 10)):
            with self.subTest(way):
                shutil.rmtree(self.out, ignore_errors=True)
                _, report = self.trace([harness.victim("exits"), way], harness.RECORD_ALL)
                end = self.only_process(report)["end"]
                self.assertEqual((end["how"], end["code"]), (how, code))

    def test_a_failed_exec_is_no_end(self):
        _, report = self.trace([harness.victim("exec_fail")], harness.RECORD_ALL)
        end = self.only_process(report)["end"]
        self.assertEqual((end["how"], end["code"]), ("exit", 3))

    def test_exec_starts_a_new_trace(self):
        _, report = self.trace([harness.victim("exec_chain")], harness.RECORD_ALL)
        ends = sorted(process["end"]["how"] for process in report["processes"])
        self.assertEqual(ends, ["exec"] * 5 + ["exit"])

    def test_children_know_their_parent(self):
        _, report = self.trace(["python3", harness.program("workers.py"), "fork"], harness.RECORD_ALL)
        pids = {process["pid"] for process in report["processes"]}
        parents = [process["ppid"] in pids for process in report["processes"]]
        self.assertEqual(parents.count(False), 1)


if __name__ == "__main__":
    unittest.main()
