"""Purpose: tests that programs that enter a sandbox run as bare, and that losses there are reported."""
import shutil
import struct
import unittest

import harness

BLOCKS = 400 * 200000  # alive before the sandbox, and in it
ABOVE_RING = 2048      # the records that fit a thread's ring

# (mode, how the filter is installed)
WAYS = [("plain", "prctl"), ("plain", "seccomp"), ("plain", "tsync"), ("full", "tsync"), ("threads", "prctl"),
        ("threads", "tsync"), ("fork", "prctl"), ("exec", "seccomp"), ("vfork", "prctl"), ("strict", "prctl")]


class Sandbox(harness.Case):
    """The tests are added below, one for each way into a sandbox."""

    def alike(self, *arguments):
        """Checks that the victim's outcome is equal bare, with the defaults, and recorded from its first block.
        """
        command = [harness.victim("sandbox"), *arguments]
        bare = self.bare(command)
        for settings in ({"MEMTRACE_QUIET": "1"}, harness.RECORD_ALL):
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.run_in("traced", command, self.environment(**settings))
            self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
        self.assertIn(bare.returncode, (0, 5), "the victim itself needs a call that its list has not")
        return self.report()

    def assert_told(self, process):
        """The trace is complete up to the sandbox; later events are in the rings or counted as lost."""
        self.assertGreaterEqual(harness.peak(process), BLOCKS)
        (time,) = process["trace"]["rings_only"]
        self.assertEqual((time["why"], time["until"]), ("sandbox", None))
        self.assertGreater(time["from"], 0)
        self.assertLessEqual(set(process["trace"]["lost_reasons"]), {"sandbox"})

    def test_a_full_ring_is_a_loss_with_a_reason(self):
        process = self.only_process(self.alike("full", "seccomp"))
        self.assert_told(process)
        trace = process["trace"]
        self.assertGreater(trace["lost_reasons"]["sandbox"], 0)
        # A ring takes the events that fit, of four rounds of 400 blocks in the sandbox.
        self.assertGreater(trace["events"] + trace["lost_events"], 4 * 400 * 2)
        self.assertGreater(trace["events"], ABOVE_RING)
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))
        text = " ".join(self.report_text().split())
        self.assertIn("memtrace could write to no file, and recorded what its rings had room for: the program put "
                      "itself in a sandbox (seccomp, or PR_SET_TSC)", text)

    def test_a_child_of_the_sandbox_is_not_recorded(self):
        self.assert_told(self.only_process(self.alike("fork", "prctl")))

    def test_a_program_started_in_the_sandbox_is_not_recorded(self):
        process = self.only_process(self.alike("exec", "prctl"))
        self.assert_told(process)
        self.assertEqual(process["end"]["how"], "exec")

    def test_a_sandboxed_child_of_vfork_leaves_its_parent_alone(self):
        process = self.only_process(self.alike("vfork", "prctl"))
        self.assert_nothing_lost(process)
        self.assertNotIn("rings_only", process["trace"])
        self.assertEqual(process["end"]["how"], "exit")
        self.assertEqual(self.ring_files(), [])


def add(mode, way):
    def test(self):
        self.alike(mode, way)

    setattr(Sandbox, f"test_{mode}_by_{way}", test)


for each in WAYS:
    add(*each)


class Containers(harness.Case):
    """Filters that exist when the job begins."""

    def under(self, which):
        """The victim must survive. The trace may be unreadable."""
        command = [harness.victim("filtered"), which, "env", f"LD_PRELOAD={harness.LIBRARY}",
                   harness.victim("sandbox"), "work"]
        environment = self.environment(**harness.RECORD_ALL)
        del environment["LD_PRELOAD"]
        done = self.run_in("traced", command, environment)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b"worked\n", b"", 0))

    def test_calls_that_it_refuses_are_done_without(self):
        self.under("some")
        process = self.only_process(self.report())
        self.assert_nothing_lost(process)
        self.assertEqual(process["end"]["how"], "exit")
        self.assertGreater(harness.peak(process), 50 * 200000)

    def test_a_file_that_cannot_be_written_is_a_loss_with_a_reason(self):
        """Nothing reaches the trace: the losses are in the header of the rings, by reason, "disk" first."""
        self.under("append")
        (rings,) = self.ring_files()
        with open(rings, "rb") as file:
            lost = struct.unpack_from("16Q", file.read(4096), 32)
        self.assertGreater(lost[0], 0)
        self.assertEqual(sum(lost), lost[0])


if __name__ == "__main__":
    unittest.main()
