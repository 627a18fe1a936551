"""Purpose: tests that ranges of Python programs become phases: by the package nvtx of PyPI, and by
torch.cuda.nvtx.

Neither is installed here. MEMTRACE_NVTX_PYTHON may name interpreters that have them, with `:` between.
"""
import os
import sys
import unittest

import harness

MIB = harness.MIB
INJECTED = os.path.join(os.path.dirname(harness.LIBRARY), "libmemtrace_cupti.so")
PYTHONS = [*filter(None, os.environ.get("MEMTRACE_NVTX_PYTHON", "").split(os.pathsep)), sys.executable,
           os.path.join(harness.CACHE, "nvtx", "bin", "python"), harness.TORCH_PYTHON]


class NvtxOfPython(harness.Case):
    def rows(self, program):
        """Returns the MiB that each phase allocated, by a Python that can run the program without memtrace."""
        if not os.path.exists(INJECTED):
            self.skipTest(f"{INJECTED} is not built: there were no headers of CUPTI (scripts/setup gets them)")
        command = next((command for command in ([python, harness.program(program)] for python in PYTHONS)
                        if os.path.exists(command[0]) and self.bare(command).returncode == 0), None)
        if command is None:
            self.skipTest(f"no Python here runs {program}: python3 -m venv {harness.CACHE}/nvtx && {harness.CACHE}/nvtx/"
                          "bin/pip install nvtx, or PyTorch for CUDA (MEMTRACE_NVTX_PYTHON)")
        done, report = self.trace(command, {**harness.RECORD_ALL, "MEMTRACE_CUPTI": "on", "MEMTRACE_STACKS": "none",
                                           "MEMTRACE_NVTX_DOMAINS": "DeepSpeed,of its own"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        return {tuple(row["path"]): row["allocated"] // MIB for row in process["phases"] if row["memory"] == "host"}

    def test_package(self):
        rows = self.rows("nvtx_package.py")
        del rows["other",]
        self.assertEqual(rows, {("annotated",): 2, ("pushed",): 3, ("in a domain",): 4, ("started",): 5,
                                ("decorated",): 6, ("by a domain",): 7, ("outer",): 8, ("outer", "inner"): 9})

    def test_torch(self):
        rows = self.rows("nvtx_torch.py")
        self.assertEqual({path: rows.get(path) for path in (("pushed",), ("range 7",), ("started",))},
                         {("pushed",): 3, ("range 7",): 4, ("started",): 5})


if __name__ == "__main__":
    unittest.main()
