"""Purpose: tests findings about resident but unused memory, and the reverse: each program with one, and its
nearest without."""
import sys
import unittest

from harness import MIB, Case, program, torch_python, victim

BYTES = 384 * MIB


class Resident(Case):
    def findings(self, what, python=None, *more):
        self.trace([python or sys.executable, program("resident.py"), what, *more], {"MEMTRACE_MIN_PEAK": "0"})
        report = self.report()
        return [one for process in report["processes"] for one in process["findings"]] + report["findings"]

    def only(self, found, name):
        self.assertEqual([one["id"] for one in found], [name], found)
        one = found[0]
        self.assertTrue(one["evidence"] and one["remedy"], one)
        return one["bytes"]

    def test_pages_of_files(self):
        self.assertAlmostEqual(self.only(self.findings("mapped"), "page-cache-not-memory"), BYTES, delta=BYTES / 50)

    def test_a_file_that_was_read_is_memory(self):
        self.assertEqual(self.findings("read"), [])

    def test_what_the_allocator_keeps(self):
        # 15 of 16 blocks were freed, and each live block keeps one or two pages.
        freed = 6000 * 60_000 * 15 / 16
        self.assertAlmostEqual(self.only(self.findings("kept"), "allocator-retention"), freed, delta=freed / 10)

    def test_what_was_given_back(self):
        self.assertEqual(self.findings("given_back"), [])

    def test_never_touched(self):
        self.assertAlmostEqual(self.only(self.findings("untouched"), "reserved-not-resident"), BYTES, delta=BYTES / 50)

    def test_reserved_by_a_library(self):
        self.assertEqual(self.findings("library", None, victim("plugins/libvictim_reserves.so")), [])

    def test_touched(self):
        self.assertEqual(self.findings("touched"), [])

    def test_objects_are_copied_by_reading_them(self):
        # Each worker writes to the strings' headers: 8 items of 16 each, on nearly every page.
        strings = 2_000_000 * 72
        copied = self.only(self.findings("objects", torch_python()), "copy-on-write-growth")
        self.assertGreater(copied, strings)
        self.assertLess(copied, 3 * strings)

    def test_an_array_is_not(self):
        self.assertEqual(self.findings("array", torch_python()), [])


if __name__ == "__main__":
    unittest.main()
