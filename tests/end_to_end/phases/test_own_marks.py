"""Purpose: runs the examples of the page about own phases as they are printed there."""
import os
import re
import shlex
import subprocess
import unittest

import harness

PAGE = os.path.join(harness.ROOT, "docs", "what-it-records.md")


class OwnMarks(harness.Case):
    def setUp(self):
        super().setUp()
        with open(PAGE, encoding="utf-8") as file:
            section = file.read().partition("\n## Your own phases and steps\n")[2].partition("\n## ")[0]
        files = dict(zip(re.findall(r"[Ss]ave this as `([\w.]+)`", section), re.findall(r"```\w+\n(.*?)```", section, re.S)))
        self.assertEqual(set(files), {"phases.py", "read.c"})
        for name, text in files.items():
            with open(os.path.join(self.scratch, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.commands = re.findall(r"^    (.+)$", re.sub(r"```.*?```", "", section, flags=re.S), re.M)

    def run_lines(self, lines):
        """Runs commands of the page, and returns the report's text."""
        path = os.pathsep.join([os.path.dirname(harness.COMMAND), os.environ["PATH"]])
        # A traced program finds the module of an installed memtrace by itself; this one is not installed.
        environment = harness.bare_environment(PATH=path, PYTHONPATH=os.path.join(harness.ROOT, "python"))
        for line in [*lines, "memtrace report"]:
            words = shlex.split(line.replace("PREFIX/include", os.path.join(harness.ROOT, "preload", "api")))
            done = subprocess.run(words, cwd=self.scratch, env=environment, capture_output=True,
                                  stdin=subprocess.DEVNULL, text=True, check=False, timeout=120)
            self.assertEqual(done.returncode, 0, (line, done.stderr))
        return done.stdout

    def test_python(self):
        text = self.run_lines(line for line in self.commands if "python3" in line)
        self.assertRegex(text, r"\n  read +\d")
        self.assertRegex(text, r"\n  convert +0 ")
        self.assertRegex(text, r"\n  convert +(typical|2) ")

    def test_c(self):
        text = self.run_lines(line for line in self.commands if "read" in line)
        self.assertRegex(text, r"\n  read +0\.\d\d +50\.\d\d ")


if __name__ == "__main__":
    unittest.main()
