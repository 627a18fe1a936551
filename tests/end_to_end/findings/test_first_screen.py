"""Purpose: tests that the first lines of a report name the user's line and its bytes, for programs whose truth is
known by construction."""
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


class FirstScreen(harness.Case):
    def check(self, name):
        environment = {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"}
        if name in WITH_PANDAS:
            environment["PYTHONPATH"] = harness.packages("datasets")
        done, _ = self.trace([harness.torch_python(), PROGRAM, name], environment)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        screen = " ".join(self.report_text().splitlines()[:SCREEN])
        figures = [float(figure) for figure in re.findall(r"\d+\.\d+", screen)]
        wanted = truths(name)
        self.assertTrue(wanted)
        for line, (size, _) in wanted.items():
            size = size or float(done.stdout)
            self.assertRegex(screen, rf"everyday\.py:{line}\b", screen)
            self.assertTrue(any(abs(figure - size) <= 0.02 * size for figure in figures), (size, screen))


for program in NAMES:
    setattr(FirstScreen, f"test_{program}", lambda self, program=program: self.check(program))

if __name__ == "__main__":
    unittest.main()
