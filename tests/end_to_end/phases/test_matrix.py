"""Purpose: makes the checks of the matrix of versions (tests/matrix) with the PyTorch that scripts/setup installs.

Each check must also fail if the truth differs: one figure of it is changed at a time.
"""
import copy
import os
import sys
import unittest

import harness

sys.path.append(os.path.join(harness.ROOT, "tests", "matrix"))
import checks  # noqa: E402
import environments  # noqa: E402
import interpreters  # noqa: E402
import run  # noqa: E402


class Installed(harness.Case):
    def test_each_check(self):
        python = harness.torch_python()
        environment = environments.Environment(interpreters.Interpreter(python), os.path.dirname(os.path.dirname(python)))
        found = run.run_all(environment, self.scratch)
        _, wrong = run.check_all(found)
        self.assertEqual(wrong, [])
        for name, change in CHANGES.items():
            with self.subTest(check=name):
                changed = copy.deepcopy(found)
                change(changed)
                self.assertTrue(checks.CHECKS[name](changed)[1], "a false truth was accepted")


def one_byte_more(occurrences, at):
    entry, peak, leave = occurrences[at]
    occurrences[at] = (entry, peak + 1, leave + 1)


def change_frame(found):
    _, chain = found.said["frames"][0]
    chain[-1][2] += 1


def change_role(found):
    found.said["roles"]["buffer"] += 1


def change_notes(found):
    found.notes.append("python-unpatched=torch.optim.optimizer.optimizer_step AttributeError()")


def change_output(found):
    found.traced.stderr += "memtrace\n"


CHANGES = {
    "phases": lambda found: found.truth["eval"].append((0, 0, 0)),
    "tensors, bytes off": lambda found: one_byte_more(found.truth["backward"], 1),
    "roles, bytes off": change_role,
    "lines, bytes off": lambda found: one_byte_more(found.truth["step"], 0),
    "frames": change_frame,
    "killed, bytes off": lambda found: one_byte_more(found.truth["loss"], 2),
    "output": change_output,
    "trace": change_notes,
}


if __name__ == "__main__":
    unittest.main()
