"""Purpose: tests that optimizer states that do not fit are named, and that states that fit, or absent ones, are
not.

Truth: the kernel's cgroup, its limit and its kill, and Adam's two states for each parameter.
"""
import re
import unittest

import deaths
import harness

MIB = harness.MIB
PARAMETERS = 96 * MIB


class States(deaths.Case):
    def run_in_group(self, optimizer, limit):
        """Returns the status, the process in the report, and the highest charge of its group without page cache,
        which the kernel can reclaim."""
        self.new_scratch()
        group = self.group(limit)
        # By default malloc moves its threshold to the size of what was freed. Then the need varies by up to 12 %, in
        # steps of a tensor, as freed tensors stay in the heap or not.
        done = self.run_in("traced", group.inside([harness.torch_python(), harness.program("states.py"), optimizer]),
                           self.environment(MEMTRACE_QUIET="1", OMP_NUM_THREADS="1", MALLOC_MMAP_THRESHOLD_="1048576"))
        return done.returncode, self.only_process(self.report()), group.highest() - group.cache()

    def test_states(self):
        """The kernel's own high-water mark gives both limits: 4 % above it the program survives, without half of the
        states it does not. The program sleeps in each step, so a sample comes near the first limit."""
        status, process, need = self.run_in_group("adam", 4096 * MIB)
        self.assertEqual((status, process["findings"]), (0, []), "a limit far away")
        limit = int(need * 1.04)
        status, process, charge = self.run_in_group("adam", limit)
        told = f"the limit is {limit >> 20} MiB, the first run needed {need >> 20}, this one {charge >> 20}"
        self.assertEqual(status, 0, told)
        self.check(process)
        status, process, _ = self.run_in_group("sgd", limit)
        self.assertEqual((status, process["findings"]), (0, []), "the same limit without states")
        status, process, _ = self.run_in_group("adam", need - PARAMETERS)
        self.assertEqual((status, process["end"]["how"]), (-9, "oom_kill"), told)
        self.check(process, least=PARAMETERS / 4)

    def check(self, process, least=2 * PARAMETERS):
        found = [one for one in process["findings"] if one["id"] == "optimizer-states-first-step"]
        self.assertEqual(len(found), 1, f"{process['findings']} {process['end']} {process['ledger']}")
        finding = found[0]
        self.assertEqual((finding["step"], finding["phase"], finding["memory"]), (0, "step", "host"))
        self.assertGreaterEqual(finding["bytes"], least)
        self.assertLess(finding["bytes"], 2 * PARAMETERS + MIB)
        self.assertIn("torch/optim/adam.py", str(finding["site"]))
        self.assertTrue(re.search("Adam", finding["title"]), finding["title"])


if __name__ == "__main__":
    unittest.main()
