"""Purpose: compares the memory that memtrace reports for itself with the kernel's figures of its cost."""
import unittest

import harness

# Measured at the program's exit, with all its imports alive.
ANONYMOUS = """
import torch
print(next(int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Anonymous")))
"""


class OwnMemory(harness.Case):
    def test_private_memory(self):
        command = [harness.torch_python(), "-c", ANONYMOUS]
        bare = int(self.bare(command).stdout) * 1024
        done, report = self.trace(command, harness.RECORD_ALL)
        more = int(done.stdout) * 1024 - bare
        own = self.only_process(report)["trace"]["own_bytes"]
        # The rest is Python's memory for the bootstrap, and touched pages of objects.
        self.assertLess(own, more + harness.MIB // 2)
        self.assertGreater(own, more - 2 * harness.MIB)
        self.assertLess(more, 8 * harness.MIB)


if __name__ == "__main__":
    unittest.main()
