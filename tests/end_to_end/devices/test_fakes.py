"""Purpose: tests that PyTorch's calls reach the real library unchanged, and are in the report."""
import os
import unittest

import harness

MIB = harness.MIB


class Fakes(harness.Case):
    def both(self, name):
        """Linked, and opened RTLD_LOCAL: the output is that of the bare run, and one process is recorded."""
        for way in ("linked", "opened"):
            with self.subTest(way):
                self.new_scratch()
                command = [os.path.join(harness.FAKES, f"{way}_{name}")]
                bare = self.bare(command)
                # If the machine has no driver, CUDA's names look missing unless the user sets this.
                done, report = self.trace(command, {**harness.RECORD_ALL, "MEMTRACE_CUPTI": "on"})
                self.assertEqual((done.stdout, done.stderr, done.returncode),
                                 (bare.stdout, bare.stderr, bare.returncode))
                process = self.only_process(report)
                self.assert_nothing_lost(process)
                yield process

    def test_c10_tensors_are_exact(self):
        for process in self.both("c10"):
            # The text of the error for the tensor that failed is not a tensor.
            self.assertEqual(harness.peak(process, "host", "tensor"), 50 * (MIB + 1000))

    def test_c10_device_blocks(self):
        for process in self.both("c10"):
            self.assertEqual(harness.peak(process, "cuda:0", "tensor"), 10 * MIB)
            self.assertEqual(harness.peak(process, "cuda:0", "reserved"), 20 * MIB)


if __name__ == "__main__":
    unittest.main()
