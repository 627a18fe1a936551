"""Purpose: tests steps and phases of library training loops. Truth: how often each step called the model."""
import json
import os
import unittest

import harness


class Loops(harness.Case):
    def run_loop(self, variant, **more):
        done, report = self.trace([harness.torch_python(), harness.program("loops.py"), variant],
                                  {**harness.RECORD_ALL, **more})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        truth = json.loads(done.stdout.splitlines()[-1])
        self.only_process(report)
        process = self.report("--all-steps")["processes"][0]
        counts = {}
        for row in process["phases"]:
            if row["memory"] == "host":
                key = row["step"], row["phase"]
                counts[key] = counts.get(key, 0) + row["count"]
        found = [[counts.get((step, phase), 0) for phase in ("forward", "backward")] for step in range(len(truth["steps"]))]
        self.assertEqual(found, truth["steps"])
        self.assertEqual(max(row["step"] for row in process["phases"] if isinstance(row["step"], int)),
                         len(truth["steps"]) - 1)
        for step in range(len(truth["steps"])):
            self.assertEqual(counts.get((step, "step")), 1, f"step {step}: {counts}")
        self.assertEqual(sum(count for (_, phase), count in counts.items() if phase == "eval"), truth["evaluated"])
        return process, counts

    def test_closures_that_go_forward_thrice(self):
        self.run_loop("lbfgs")

    def test_closures(self):
        self.run_loop("closure")

    def with_accelerate(self):
        packages = os.path.join(harness.CACHE, "accelerate")
        if not os.path.isdir(packages):
            self.skipTest("accelerate is not installed; scripts/setup installs it where pip can reach it")
        return {"PYTHONPATH": packages}

    def test_accelerate(self):
        self.run_loop("accelerate", **self.with_accelerate())

    def test_trainer(self):
        _, counts = self.run_loop("trainer", **self.with_accelerate())
        saves = {step for (step, phase) in counts if phase == "save"}
        self.assertEqual(saves, {1, 3}, "it saves and evaluates after every other step")
        self.assertEqual({step for (step, phase) in counts if phase == "eval"}, {1, 3})


if __name__ == "__main__":
    unittest.main()
