"""Job: modules and optimizers say what their tensors are for. Truth: PyTorch's own sizes of the same tensors."""
import json
import unittest

import harness

SMALL = 16384  # bytes of a role that scalars and alignment may add


class Roles(harness.Case):
    def check(self, variant):
        done, report = self.trace([harness.torch_python(), harness.program("roles.py"), variant], harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        truth = json.loads(done.stdout.splitlines()[-1])
        process = self.only_process(report)
        [peak] = [peak for peak in process["peaks"] if (peak["memory"], peak["measure"]) == ("host", "tensor")]
        self.assertEqual(peak["phase"], "step", "where all of them are alive, and temporaries")
        held = {}
        for row in peak["at_peak"]:
            held[row["role"]] = held.get(row["role"], 0) + row["bytes"]
        for role, size in truth.items():
            self.assertAlmostEqual(held.get(role, 0), size, delta=SMALL, msg=f"{role}: {held}")
        self.assert_nothing_lost(process)
        return process

    def test_a_model_and_its_optimizer(self):
        process = self.check("plain")
        self.assertEqual(process["parameters"]["count"], 256 * 1024 + 1024 + 2 * 1024 + 1024 * 512 + 512)

    def test_master_copies(self):
        process = self.check("masters")
        self.assertEqual(process["parameters"]["by_dtype"], {"bfloat16": process["parameters"]["count"]},
                         "a master copy is no parameter more")


if __name__ == "__main__":
    unittest.main()
