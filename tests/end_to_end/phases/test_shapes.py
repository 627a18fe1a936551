"""Purpose: compares every phase's tensor bytes with PyTorch's own allocator events, on other shapes."""
import os
import re
import unittest

import harness

# Shapes that are in no table. SHAPES in the environment, "--layers 3 ...;--opt fused ...", replaces them.
SHAPES = [
    ("--layers", "3", "--hidden", "256", "--batch", "3", "--seq", "96"),
    ("--layers", "5", "--hidden", "192", "--batch", "1", "--seq", "200", "--accum", "3", "--opt", "forloop"),
    ("--layers", "4", "--hidden", "320", "--batch", "2", "--seq", "64", "--dtype", "bf16", "--checkpointing"),
]
IN_LONG = [0]
if os.environ.get("SHAPES"):
    IN_LONG = []
    SHAPES = [tuple(shape.split()) for shape in os.environ["SHAPES"].split(";")]
# Other Pythons with PyTorch and transformers, with colons between: each is compared with its own PyTorch.
OTHERS = [path for path in os.environ.get("MEMTRACE_TEST_TORCH_PYTHONS", "").split(":") if path]
LINE = re.compile(r"^(load|(?:forward|backward) \d+\.\d+|step \d+)\s+([-\d.]+)\s+([-\d.]+)\s+([-\d.]+)\s")
TOLERANCE = 0.0101


class Shapes(harness.Case):
    def truth(self, python, options):
        """Returns (phase, step) -> [(entry, peak, exit), ...] of its occurrences, in MiB."""
        done = self.bare([python, harness.workload("truth_torch.py"),
                          harness.workload("falcon_adamw_marked.py"), *options], {"OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        table = done.stdout.decode().partition("tensor bytes")[2]
        rows = {}
        for line in table.splitlines():
            if found := LINE.match(line):
                name, _, number = found[1].partition(" ")
                step = int(number.split(".")[0]) if number else None
                rows.setdefault((name, step), []).append(tuple(float(figure) for figure in found.groups()[1:]))
        self.assertTrue(rows, done.stdout)
        return rows

    def compare(self, python, options):
        truth = self.truth(python, options)
        command = [python, harness.workload("falcon_adamw.py"), *options]
        done = self.run_in("traced", command,
                           self.environment(OMP_NUM_THREADS="1", MEMTRACE_QUIET="1", MEMTRACE_MIN_PEAK="1M"))
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(self.report("--steps", "0:2"))
        wrong = []
        for (phase, step), occurrences in truth.items():
            if phase == "load":
                continue  # ends at the first forward, later than the mark of the script
            tensor = harness.phase_row(process, phase, step)["tensor"]
            wanted = {"entry_live": occurrences[0][0], "peak_live": max(row[1] for row in occurrences),
                      "exit_live": occurrences[-1][2],
                      "transient": max(row[1] - max(row[0], row[2]) for row in occurrences)}
            if phase == "forward":
                # The marked script frees the model's output (the logits) inside its mark. The phase ends when
                # the module's call returns, and the output is still alive then. Entry and peak are equal.
                del wanted["exit_live"], wanted["transient"]
            for name, figure in wanted.items():
                found = tensor[name] / harness.MIB
                # A transient is a difference of two rounded figures of the truth.
                if abs(found - figure) > TOLERANCE * (2 if name == "transient" else 1):
                    wrong.append(f"{phase} {step} {name}: {found:.3f}, PyTorch says {figure:.2f}")
        self.assertEqual(wrong, [])


for number, shape in enumerate(SHAPES):
    def compare_shape(self, shape=shape):
        self.compare(harness.torch_python(), shape)

    setattr(Shapes, f"test_shape_{number}", harness.only_in_long(compare_shape) if number in IN_LONG else compare_shape)
for number, other in enumerate(OTHERS):
    setattr(Shapes, f"test_other_python_{number}", lambda self, other=other: self.compare(other, SHAPES[0]))

if __name__ == "__main__":
    unittest.main()
