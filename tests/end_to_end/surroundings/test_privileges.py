"""Purpose: tests that no thread of memtrace keeps privileges that the program gives up, and that resulting
losses are reported."""
import os
import shutil
import unittest

import harness

# After these, the program can still write its trace.
WRITABLE = ("prctl", "capset", "capset_raw", "vfork", "often")
SHUT_OUT = ("glibc", "syscall", "unseen")
BY_TURNS = ("handler",)  # the machine decides whether a ring fills while memtrace cannot write


@unittest.skipUnless(os.geteuid() == 0, "only root has privileges to give up")
class Privileges(harness.Case):
    """The tests are added below, one for each way to give up privileges."""

    def alike(self, mode):
        command = [harness.victim("privileges"), mode]
        bare = self.bare(command)
        self.assertEqual((bare.returncode, bare.stderr), (0, b""))
        for settings in ({}, harness.RECORD_ALL):
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.run_in("traced", command, self.environment(**settings))
            self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
        process = self.only_process(self.report())
        self.assertEqual(process["end"]["how"], "exit")
        return process


def add(mode):
    def test(self):
        process = self.alike(mode)
        if mode in WRITABLE:
            self.assert_nothing_lost(process)
            self.assertNotIn("rings_only", process["trace"])
            self.assertEqual(self.ring_files(), [])
            return
        if mode in BY_TURNS:
            self.assertLessEqual(set(process["trace"]["lost_reasons"]), {"credentials"})
            return
        self.assertEqual(set(process["trace"]["lost_reasons"]), {"credentials"})
        time = process["trace"]["rings_only"][-1]
        self.assertEqual((time["why"], time["until"]), ("credentials", None))
        self.assertGreater(time["from"], 0)
        self.assertIn("the program changed its credentials, and those cannot write the trace",
                      " ".join(self.report_text().split()))

    setattr(Privileges, f"test_{mode}", test)


for each in (*WRITABLE, *SHUT_OUT, *BY_TURNS):
    add(each)


if __name__ == "__main__":
    unittest.main()
