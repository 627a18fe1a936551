"""Purpose: tests the analyzer on a trace of real training on an NVIDIA H200, beside what PyTorch's counters said there.

The trace and the counters are of one run of scripts/gpu/work_train.py (docs/gpu.md); names are redacted.
"""
import json
import os
import subprocess
import sys
import unittest

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
TRACE = os.path.join(HERE, "h200", "train.memtrace.zst")
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "scripts", "gpu"))
import checks  # noqa: E402

MIB = 1 << 20


class H200(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(HERE, "h200", "train.json"), encoding="utf-8") as file:
            truth = json.load(file)
        done = subprocess.run([harness.COMMAND, "report", TRACE, "--format", "json", "--all-steps", "--top", "200"],
                              capture_output=True, check=True, timeout=120)
        cls.run_there = checks.Run(truth, json.loads(done.stdout))

    def test_equals_pytorchs_counters(self):
        rows = list(checks.backward_lines(self.run_there))
        self.assertEqual([vars(row) for row in rows if row.ok is False], [])
        self.assertGreater(sum(row.ok is True for row in rows), 20)

    def test_roles(self):
        """cuBLAS's workspaces are not gradients: those are exactly as large as the parameters."""
        roles = {}
        for row in checks.at_peak(self.run_there, "tensor"):
            roles[row["role"]] = roles.get(row["role"], 0) + row["bytes"]
        size = self.run_there.truth["parameter_bytes"]
        workspaces = 65 * MIB  # 32 MiB of forward's thread and of backward's, and 1 MiB of cublasLt
        self.assertEqual({role: roles[role] for role in ("parameter", "gradient", "optimizer_state", "temporary",
                                                         "workspace")},
                         {"parameter": size, "gradient": size, "optimizer_state": 2 * size,
                          "temporary": size, "workspace": workspaces})

    def test_findings(self):
        """The temporaries of foreach; nothing about addresses that libraries reserved."""
        self.assertEqual([finding["id"] for finding in self.run_there.process["findings"]], ["foreach-temporaries"])


if __name__ == "__main__":
    unittest.main()
