"""Purpose: tests that an event changes no memory that all threads write, or one word: the library runs one instruction
at a time, and its locked instructions are counted by the memory that they change."""
import re
import subprocess
import unittest

import harness

COUNT = 50
# They come with a system call, wake the background thread, or answer its call for a ledger. Their number depends on the
# time, and single steps make a program a thousand times slower.
TIMED = ("os::Passage::", "os::opened(", "os::closed(", "record::wake_drain(", "record::wake_for_look(",
         "record::count_pause(", "record::flows_since_fork(", "::stand(", "record::stand_before_fall(")


def functions():
    """Returns (start, end, name) of each function of the library."""
    listed = subprocess.run(["nm", "-C", "-S", "--defined-only", harness.LIBRARY], capture_output=True, text=True,
                            check=True).stdout
    found = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*)$", listed, re.MULTILINE)
    return [(int(start, 16), int(start, 16) + int(size, 16), name) for start, size, name in found]


class LockedSteps(harness.Case):
    def steps(self, what, size, *libraries, **settings):
        """Returns the locked instructions for each pair: on the thread's own slot, and on memory of the process."""
        self.new_scratch()
        done = self.bare([harness.victim("locked_steps"), harness.LIBRARY, what, str(size), str(COUNT), *libraries],
                         {**harness.RECORD_ALL, "MEMTRACE_OUT": self.out, "MEMTRACE_MAX_TRACE": "64M", **settings})
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        counts = {words[0]: int(words[1]) for words in lines if len(words) == 2}
        self.assertGreater(counts["steps"], 100 * COUNT)
        shared = {}
        for _, at, times in (words for words in lines if words[0] == "at"):
            name = self.name(at)
            if not any(timed in name for timed in TIMED):
                shared[name] = shared.get(name, 0) + int(times)
        return counts["ring"] / COUNT, sum(shared.values()) / COUNT, shared

    def name(self, offset):
        at = int(offset, 16)
        return next((name for start, end, name in self.known if start <= at < end), "?")

    def setUp(self):
        super().setUp()
        self.known = functions()

    def test_small_blocks_lock_nothing(self):
        own, shared, names = self.steps("block", 64)
        self.assertLess(own, 0.2)
        self.assertLess(shared, 0.2, names)

    def test_recorded_blocks_lock_their_slot_alone(self):
        for what, size, settings in (("block", 8192, {}), ("block", 64, {"MEMTRACE_EXACT_MIN": "1"}),
                                     ("block", 8192, {"MEMTRACE_STACKS": "none"})):
            with self.subTest(size=size, settings=settings):
                own, shared, names = self.steps(what, size, **settings)
                self.assertTrue(2 <= own < 2.2, own)  # a birth and a death
                self.assertLess(shared, 0.3, names)

    def test_large_blocks_add_to_the_level_once(self):
        own, shared, names = self.steps("block", 200_000, MEMTRACE_STACKS="none")
        self.assertTrue(2 <= own < 2.2, own)
        # Before it wakes the background thread, a birth also takes the level that is watched. In single steps, that thread
        # watches again before each birth.
        self.assertTrue(2 <= shared < 3.2, names)

    def test_blocks_that_stay_add_to_the_level_now_and_then(self):
        own, _, names = self.steps("held", 8192, MEMTRACE_STACKS="none")
        self.assertTrue(1 <= own < 1.3, own)
        # 64 KiB are eight blocks. The background thread also asks for ledgers, as often as time passes.
        told = sum(times for name, times in names.items() if "record::level(" in name)
        self.assertTrue(COUNT / 9 <= told <= COUNT / 7 + 1, names)

    def test_tensors_lock_their_slot_alone(self):
        fake = f"{harness.FAKES}/libc10.so"
        own, shared, names = self.steps("tensor", 8192, fake, MEMTRACE_STACKS="none")
        self.assertTrue(2 <= own < 2.2, own)
        self.assertLess(shared, 0.3, names)


if __name__ == "__main__":
    unittest.main()
