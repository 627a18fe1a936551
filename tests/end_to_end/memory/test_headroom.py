"""Purpose: tests the limits of a report, and how much of each was needed and used, against the cgroup's own files."""
import subprocess
import sys
import unittest

import cgroup
import harness

MIB = harness.MIB
LIMIT, HELD, CACHED = 256 * MIB, 64 * MIB, 96 * MIB
# Holds HELD, then writes a file of CACHED bytes, whose pages stay in the page cache once they are on the disk.
PROGRAM = f"""
import os, time
held = b"x" * {HELD}
with open("cached.bin", "wb") as file:
    for _ in range({CACHED // (8 * MIB)}):
        file.write(bytes({8 * MIB}))
        os.fsync(file.fileno())
time.sleep(1.2)
"""


class HeadroomOfACgroup(harness.Case):
    def test_page_cache_is_used_and_not_needed(self):
        with cgroup.Group("headroom", LIMIT) as group:
            done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=self.scratch, env=self.environment(),
                                  preexec_fn=group.enter, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                  timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            used, cache = group.highest(), group.cache()
            path = group.path
        self.assertGreaterEqual(cache, CACHED - MIB, "the file stays in the page cache")
        limit = self.only_process(self.report())["headroom"][0]
        self.assertEqual((limit["of"], limit["name"], limit["limit"]), ("cgroup", path, LIMIT))
        self.assertAlmostEqual(limit["used"], used, delta=2 * MIB)
        self.assertEqual(limit["never_used"], LIMIT - limit["used"])
        # While the file is written, 8 MiB of it must go to the disk first, and count.
        self.assertGreaterEqual(limit["needed"], HELD)
        self.assertLessEqual(limit["needed"], used - CACHED + 16 * MIB)
        self.assertRegex(" ".join(self.report_text().split()),
                         r"Limit of cgroup \S+ 256\.00 MiB: needed at most [\d.]+ \(without page cache that the kernel "
                         r"can drop\), used at most [\d.]+, never used [\d.]+")


if __name__ == "__main__":
    unittest.main()
