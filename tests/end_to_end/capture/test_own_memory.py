"""Purpose: what memtrace says of its own memory, held against what the kernel says that it costs."""
import unittest

import harness

# At exit of the program, everything that it imported still there.
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
        # The rest is what Python holds for the bootstrap, and pages of objects that were touched.
        self.assertLess(own, more + harness.MIB // 2)
        self.assertGreater(own, more - 2 * harness.MIB)
        self.assertLess(more, 8 * harness.MIB)


if __name__ == "__main__":
    unittest.main()
