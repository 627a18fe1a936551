"""Purpose: runs the examples of docs/python.md as they are printed there."""
import os
import shlex
import subprocess
import sys
import unittest

import harness
import python_package

RUNNER = """
import doctest, sys
failed, tried = doctest.testfile(sys.argv[1], module_relative=False)
print(failed, tried)
"""


class Page(harness.Case):
    def setUp(self):
        super().setUp()
        blocks = python_package.blocks_of_code("python.md")
        self.program, = (text for language, text in blocks if language == "python")
        self.examples = [text for language, text in blocks if language == "pycon"]
        with open(os.path.join(harness.ROOT, "docs", "python.md"), encoding="utf-8") as file:
            self.command, = (line.strip() for line in file if line.startswith("    memtrace run -- "))

    def trace_program(self):
        with open(os.path.join(self.scratch, "train.py"), "w", encoding="utf-8") as file:
            file.write(self.program)
        done = subprocess.run(shlex.split(self.command), cwd=self.scratch, env=python_package.environment(),
                              capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_examples(self, python, folders, examples):
        """Runs the examples in one session. Returns how many there are."""
        self.trace_program()
        path = os.path.join(self.scratch, "examples.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(examples))
        done = subprocess.run([python, "-c", RUNNER, path], cwd=self.scratch, env=python_package.environment(*folders),
                              capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.stderr, "")
        failed, tried = map(int, done.stdout.splitlines()[-1].split())
        self.assertEqual(failed, 0, done.stdout)
        return tried

    def without(self, *names):
        """Returns the examples that need none of these packages."""
        return [text for text in self.examples if not any(name in text for name in names)]

    def test_examples(self):
        tried = self.run_examples(sys.executable, (), self.without("pandas", "polars"))
        self.assertGreater(tried, 6)

    def test_examples_of_pandas(self):
        tried = self.run_examples(harness.torch_python(), (harness.packages("datasets"),), self.without("polars"))
        self.assertGreater(tried, 9)

    def test_examples_of_polars(self):
        tried = self.run_examples(harness.torch_python(), (harness.packages("polars"),), self.without("pandas"))
        self.assertGreater(tried, 8)

    def test_examples_on_each_python(self):
        for version, python in python_package.pythons().items():
            with self.subTest(version):
                self.assertGreater(self.run_examples(python, (), self.without("pandas", "polars")), 6)

    def test_the_page_has_the_roles(self):
        sys.path.insert(0, python_package.PACKAGE)
        self.addCleanup(sys.path.remove, python_package.PACKAGE)
        from memtrace import marks, tables

        with open(os.path.join(harness.ROOT, "docs", "python.md"), encoding="utf-8") as file:
            text = file.read()
        for name in (*marks.ROLES, *tables.COLUMNS):
            self.assertIn(f"`{name}`", text)


if __name__ == "__main__":
    unittest.main()
