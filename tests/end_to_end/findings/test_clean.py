"""Purpose: tests that programs of real frameworks that waste nothing get no finding, in any of their processes.
"""
import shutil
import unittest

import harness

# The programs, with the least MiB of tensors of each (`arrays`: of all live bytes): less would prove nothing.
PROGRAMS = {
    "loader": 100, "arrays": 300,
}
# More programs, which run only if MEMTRACE_TEST_SETTINGS=all. Each takes 7 to 30 s of CPU time.
MORE = {
    "clean.py": {"mlp_fused_adamw_autocast": 200, "generate": 100, "averaged": 300, "mlp_sgd": 200, "cnn_adam": 150, "gpt": 200, "lbfgs": 150, "bert": 200,
                 "compiled": 100, "encoder_rmsprop_accumulated": 200},
    "clean_more.py": {"gan": 150, "lstm": 200, "distilled": 90, "frozen": 90, "autoencoder": 150, "validated": 150,
                      "mapped": 150, "translated": 200},
}


class Clean(harness.Case):
    def check(self, name, least, file):
        if name == "compiled" and shutil.which("g++") is None:
            self.skipTest("no g++ on PATH: torch.compile needs one")
        done, report = self.trace([harness.torch_python(), harness.program(file), name],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": self.scratch})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        self.assertEqual([finding for process in report["processes"] for finding in process["findings"]], [])
        self.assertEqual(report["findings"], [])
        main = report["processes"][0]
        self.assert_nothing_lost(main)
        held = harness.peak(main, measure="tensor") or harness.peak(main)
        self.assertGreater(held, least * harness.MIB)
        text = self.report_text("--all")
        self.assertIn("No finding: memtrace found none of the causes that it looks for.", text)
        if name == "compiled":  # the operators that fill a buffer of the generated code
            self.assertRegex(text, r"clean\.py:\d+ +compiled \w+")


def add_tests(programs, file):
    for program, held in programs.items():
        setattr(Clean, f"test_{program}", lambda self, program=program, held=held: self.check(program, held, file))


add_tests(PROGRAMS, "clean.py")
if harness.ALL:
    for program_file, more in MORE.items():
        add_tests(more, program_file)

if __name__ == "__main__":
    unittest.main()
