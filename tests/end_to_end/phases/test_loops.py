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

    def test_levels_chain(self):
        """If the program does nothing between two phases, the second begins at the level where the first ended.
        A step begins at its forward, so the phase of the user around it begins in the step before."""
        done, _ = self.trace([harness.torch_python(), harness.program("marked_loop.py")],
                             {**harness.RECORD_ALL, "PYTHONPATH": os.path.join(harness.ROOT, "python")})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        process = self.report("--all-steps")["processes"][0]
        for step in range(3):
            rows = {tuple(row["path"]): row for row in process["phases"]
                    if row["memory"] == "host" and row["step"] == step and row["phase"] not in ("other", "batch", "gc")}
            self.assertEqual(sorted(rows), sorted([
                ("batch", "forward"), ("batch", "loss"), ("batch", "loss", "criterion"), ("loss",),
                ("loss", "backward"), ("backward",), ("step",), ("zero_grad",), *[("deep",) * depth for depth in range(1, 33)]]))
            chain = (("batch", "forward"), ("batch", "loss"), ("loss",), ("backward",), ("step",), ("zero_grad",))
            levels = [(rows[path]["tensor"]["entry_live"], rows[path]["tensor"]["exit_live"]) for path in chain]
            for (_, exit_level), (entry_level, _) in zip(levels, levels[1:]):
                self.assertLessEqual(abs(exit_level - entry_level), 64)  # Python frees scalars in between
            # The loss keeps the softmax of 4 MiB; zero_grad frees the gradient of 1 MiB.
            self.assertEqual(rows["batch", "loss"]["tensor"]["net"] >> 20, 4)
            self.assertEqual(rows["zero_grad",]["tensor"]["net"], -(1 << 20))

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
