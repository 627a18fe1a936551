"""Purpose: starts a program on the CUDA node (docs/cuda-node.md), bare or traced. Skips the test if there is none."""
import os
import subprocess
import unittest

import harness

NODE = os.path.join(harness.BUILD, "tests", "cuda_node", "run")


def require():
    harness.existing(NODE, "there is no PyTorch wheel for CUDA (scripts/setup --cuda-wheel), or no header of CUPTI; configure "
                           "the build after either")
    tried = subprocess.run([NODE, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise unittest.SkipTest(f"no /dev of its own: {tried.stderr.strip()}")


class Case(harness.Case):
    def setUp(self):
        require()
        super().setUp()

    def environment(self, **more):
        """Of what starts the program, which is not traced itself."""
        return harness.bare_environment(MEMTRACE_OUT=self.out, **more)

    def trace_python(self, program, *words, more=None):
        """Returns what the program printed, and its process of the report."""
        command = [NODE, "env", "LD_PRELOAD=" + harness.LIBRARY, "python", harness.program(program), *words]
        done, report = self.trace(command, {**harness.RECORD_ALL, **(more or {})})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        return done.stdout.decode(), process
