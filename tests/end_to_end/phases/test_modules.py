"""Purpose: tests that each tensor of a model has the path of its module. Truth: the shapes that the program gives."""
import collections
import re
import unittest

import harness

MIB = harness.MIB
WIDTH, ROWS, LAYERS = 64, 1024, 48
SQUARE = 4 * WIDTH * WIDTH  # bytes of a weight of WIDTH x WIDTH
ACTIVATION = 4 * ROWS * WIDTH
HELD = 512 * MIB

# Forward holds what backward needs: both sums of a layer, what GELU takes and what it gives. The mean of what the head
# gives needs only its shape.
WEIGHTS = {"layers.*.attention": LAYERS * SQUARE, "layers.*.mlp.0": LAYERS * 4 * SQUARE,
           "layers.*.mlp.2": LAYERS * 4 * SQUARE, "head": 4 * WIDTH * 4096}
ACTIVATIONS = {"layers.*": LAYERS * 2 * ACTIVATION, "layers.*.mlp.0": LAYERS * 4 * ACTIVATION,
               "layers.*.mlp.1": LAYERS * 4 * ACTIVATION}


def sums(*parts):
    out = collections.Counter()
    for part in parts:
        out.update(part)
    return dict(out)


class Modules(harness.Case):
    def at_peak(self, where, *options):
        """Returns the bytes of each module at the peak of tensors, and how many modules they are."""
        done = self.run_in("traced", [harness.torch_python(), harness.program("modules.py"), where],
                           self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(self.report("--all", *options))
        self.assert_nothing_lost(process)
        peak = next(peak for peak in process["peaks"] if (peak["memory"], peak["measure"]) == ("host", "tensor"))
        found, numbers = collections.Counter(), collections.defaultdict(int)
        for row in peak["at_peak"]:
            found[row["module"]] += row["bytes"]
            numbers[row["module"]] = max(numbers[row["module"]], row.get("modules", 0))
        self.assertEqual(sum(found.values()), peak["bytes"])
        return found, numbers

    def check(self, found, numbers, truth):
        none = found.pop(None)
        self.assertEqual(dict(found), truth)
        self.assertTrue(HELD <= none < HELD + MIB, none)  # the batch, counts of steps, the loss
        for module in truth:
            self.assertEqual(numbers[module], LAYERS if "*" in module else 1, module)

    def test_parameters_states_and_activations(self):
        found, numbers = self.at_peak("forward")
        self.check(found, numbers, sums(WEIGHTS, WEIGHTS, WEIGHTS, ACTIVATIONS))  # AdamW has two states
        self.assert_table(found)

    # Rows of the text add up to its total, and fit 100 columns.
    def assert_table(self, found):
        text = self.report_text("--by", "module")
        table = text[text.index("Alive at the peak, by module, MiB"):]
        rows = {}
        for line in table.splitlines()[1:]:
            match = re.match(r"  (\S.*?)(?: +x (\d+))? +(\d+\.\d\d)(?: |$)", line)
            if not match:
                break
            rows[match[1]] = (match[2], float(match[3]))
        total = rows.pop("total")[1]
        self.assertAlmostEqual(sum(size for _, size in rows.values()), total, delta=0.01 * len(rows))
        for module, size in found.items():
            self.assertEqual(rows[module][0], str(LAYERS) if "*" in module else None, text)
            self.assertAlmostEqual(rows[module][1], size / MIB, delta=0.01)
        self.assertIn("(no module)", rows)
        self.assertLessEqual(max(map(len, table.splitlines())), 100)

    def test_gradients_by_the_forward_call(self):
        found, numbers = self.at_peak("backward")
        self.check(found, numbers, sums(WEIGHTS, WEIGHTS))

    @harness.only_in_long
    def test_a_wrapper_adds_nothing_to_the_path(self):
        found, numbers = self.at_peak("wrapped")
        self.check(found, numbers, sums(WEIGHTS, WEIGHTS, WEIGHTS, ACTIVATIONS))


if __name__ == "__main__":
    unittest.main()
