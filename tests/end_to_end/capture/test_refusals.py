"""Purpose: tests that a failed allocation leaves its size, its stack and the live memory, and that the program
sees its normal result."""
import os
import sys
import unittest

import harness
import rawtrace

GIB = 1 << 30
ENOMEM, ENOSPC = 12, 28
OVERFLOW = (1 << 64) - 1  # more bytes than an address space has
MAP_PRIVATE_ANONYMOUS = 0x22


def failures(path):
    """Returns the failures of a trace in order: asked, kind, flags, code, map flags, stack, live, free, total.
    """
    records, gaps = rawtrace.read(path)
    if gaps:
        raise AssertionError(f"{gaps} gaps")
    out = []
    for record in records:
        if record.type == "failure":
            words = record.words
            out.append((words[0], rawtrace.KINDS[record.kind], record.flags, words[1] & 0xFFFFFFFF, words[1] >> 32,
                        words[2] & 0xFFFFFFFF, *words[3:]))
    return out


class Refusals(harness.Case):
    def test_each_way_to_ask(self):
        command = [harness.victim("refusals")]
        bare = self.bare(command)
        self.assertEqual(bare.returncode, 0, bare.stderr)
        done, report = self.trace(command, harness.RECORD_ALL)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, 0))
        self.assert_nothing_lost(self.only_process(report))
        [path] = self.trace_files()
        found = failures(path)
        flags = MAP_PRIVATE_ANONYMOUS
        self.assertEqual([failure[:5] for failure in found], [
            (3 * GIB, "heap", 0, ENOMEM, 0),
            (5000 << 20, "heap", 0, ENOMEM, 0),
            (OVERFLOW, "heap", 0, ENOMEM, 0),
            (6 * GIB, "heap", 0, ENOMEM, 0),
            (OVERFLOW, "heap", 0, ENOMEM, 0),
            (7 * GIB, "heap", 0, ENOMEM, 0),
            (8 * GIB, "heap", 0, ENOMEM, 0),
            (9 * GIB, "mmap_anon", 0, ENOMEM, flags),
            (10 * GIB, "mmap_anon", rawtrace.NO_ACCESS, ENOMEM, flags),
            (11 * GIB, "mmap_anon", 0, ENOMEM, 0)])
        for failure in found:
            self.assertNotEqual(failure[5], 0, "a stack")
            self.assertGreaterEqual(failure[6], 100000, "live then")
            self.assertLess(failure[6], 8 << 20)
            left, limit = failure[7:]
            self.assertEqual(limit, GIB, "RLIMIT_AS")
            self.assertTrue(0 < limit - left < 100 << 20, left)

    def test_shared_memory_without_room(self):
        """Only files of the full file system are refused; a call on no file is the caller's mistake."""
        command = [sys.executable, harness.program("full_shm.py")]
        bare = self.bare(command)
        if bare.returncode != 0:
            self.skipTest("no mount namespace")
        done = self.run_in("traced", command, self.environment(**harness.RECORD_ALL))
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, 0))
        [path] = self.trace_files()
        found = [failure for failure in failures(path) if failure[1] == "shm"]
        self.assertEqual([failure[:5] for failure in found],
                         [(size << 20, "shm", 0, ENOSPC, 0) for size in (16, 32, 32)])
        for failure in found:
            self.assertNotEqual(failure[5], 0, "a stack")

    def test_memory_error(self):
        """A MemoryError of Python: a tensor-sized array that fails after one that succeeds."""
        code = ("import resource\n"
                "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
                "held = bytearray(300 << 20)\n"
                "try:\n    bytearray(5 << 30)\n"
                "except MemoryError:\n    print('MemoryError', flush=True)\n")
        done, report = self.trace([sys.executable, "-c", code], {"MEMTRACE_SKIP": ""})
        self.assertEqual(done.stdout, b"MemoryError\n")
        [finding] = self.only_process(report)["findings"]
        self.assertEqual((finding["id"], finding["bytes"] >> 30, finding["confidence"]), ("allocation-retried", 5, "certain"))
        self.assertIn("1 allocation failed on host and the program went on: the largest of 5.00 GiB at <string>:5",
                      finding["title"])
        [path] = self.trace_files()
        found = failures(path)
        self.assertEqual([failure[0] >> 20 for failure in found], [5 << 10])
        self.assertGreaterEqual(found[0][6], 300 << 20, "what was held")
        self.assertLess(found[0][6], 340 << 20)
        left, limit = found[0][7:]
        self.assertEqual(limit, 2 << 30, "RLIMIT_AS")
        self.assertGreater(limit - left, 300 << 20, "what was held is in what was used")


if __name__ == "__main__":
    unittest.main()
