"""Purpose: tests that the first lines of a report name the user's line and its bytes, for programs whose truth is
known by construction."""
import os
import re
import unittest

import harness

SCREEN = 12  # lines
PROGRAM = harness.program("everyday.py")
NAMES = ("merge", "memmap", "decoding", "ema", "lora", "cache", "graph", "accumulation", "checkpoint", "tokenizer")
WITH_PANDAS = {"merge"}


def truths(name):
    """Returns {line: (MiB or None, per step)} of the marked lines of the function `name`, and of what it uses."""
    with open(PROGRAM, encoding="utf-8") as file:
        lines = file.read().splitlines()
    uses = {"cache": ("class Cached",), "decoding": ("class Clips",)}.get(name, ()) + (f"def {name}(",)
    out, inside = {}, False
    for number, text in enumerate(lines, 1):
        if re.match(r"\w", text):
            inside = text.startswith(uses)
        mark = re.search(r"# TRUTH: ([\d.]+|printed)( a step)?$", text)
        if inside and mark:
            out[number] = (None if mark[1] == "printed" else float(mark[1]), bool(mark[2]))
    return out


class Screen(harness.Case):
    def screen(self):
        return " ".join(self.report_text().splitlines()[:SCREEN])


class FirstScreen(Screen):
    def check(self, name):
        environment = {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"}
        if name in WITH_PANDAS:
            environment["PYTHONPATH"] = harness.packages("datasets")
        done, _ = self.trace([harness.torch_python(), PROGRAM, name], environment)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        wanted = truths(name)
        self.assertTrue(wanted)
        sizes = {size or float(done.stdout) for size, _ in wanted.values()}
        self.assert_on(self.screen(), "everyday.py", wanted, sizes)


# The program beside the repository, its arguments, the user's lines, and MiB, as its first lines derive them.
EVERYDAY = (("gpt_logits_leak.py", [], [17], [16, 640]), ("logits_kept.py", [], [5], [4]),
            ("prep_then_train.py", [], [8, 10, 12], [305.2, 2 * 381.5, 381.5, 343.3]), ("val_leak.py", [], [12, 13], [32, 24, 8]),
            ("ck_oom.py", [], [8], [384, 396]), ("state_dict_kept.py", [], [7], [128]),
            ("generate_only.py", [], [4], [88.41]), ("generate_only.py", ["--first"], [4], [88.41]))


class Everyday(Screen):
    @harness.only_in_long
    def test_programs(self):
        for name, arguments, lines, sizes in EVERYDAY:
            with self.subTest(name, arguments=arguments):
                self.new_scratch()
                environment = {"MEMTRACE_QUIET": "1", "PYTHONPATH": harness.packages("datasets")}
                command = [harness.torch_python(), harness.workload(os.path.join("everyday", name)), *arguments]
                done, report = self.trace(command, environment)
                self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
                self.assert_on(self.screen(), name, lines, sizes)
                found = [finding["id"] for finding in report["processes"][0]["findings"]]
                self.assertNotIn("loss-logits", found, "logits that are kept are a leak")
                if name == "generate_only.py":
                    process = report["processes"][0]
                    self.assertIn("generate", {row["phase"] for row in process["phases"]})
                    roles = {row["role"] for row in harness.phase_row(process, "generate", None)["at_peak"]}
                    self.assertLessEqual({"parameter", "kv_cache"}, roles)


# Each takes 6 s of CPU time, so these run only if MEMTRACE_TEST_SETTINGS=all.
IN_LONG = {"memmap", "lora", "accumulation", "tokenizer"}
for program in NAMES:
    if harness.ALL or program not in IN_LONG:
        setattr(FirstScreen, f"test_{program}", lambda self, program=program: self.check(program))

if __name__ == "__main__":
    unittest.main()
