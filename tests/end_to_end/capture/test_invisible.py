"""Purpose: tests that a traced program has the output and effects that it has without memtrace."""
import os
import subprocess
import sys
import unittest

import compare
import harness


def without_own(text):
    """Returns the environment without the variables that the user sets for tracing."""
    return b"\n".join(line for line in text.split(b"\n")
                      if not line.startswith((b"LD_PRELOAD=", b"MEMTRACE")) and not line.startswith(b"_="))


class Invisible(compare.InvisibleCase):
    def test_python(self):
        self.check(["python3", "-c", "pass"])

    def test_python_isolated(self):
        self.check(["python3", "-I", "-S", "-c", "import sys; print(sys.flags, sorted(sys.modules), sys.meta_path)"],
                   outcome=lambda data: data.split(b"[")[0])

    def test_python_program(self):
        self.check(["python3", harness.program("ordinary.py"), "argument"])

    def test_python_that_fails(self):
        done = self.check(["python3", "-c", "def f():\n  raise ValueError('told')\nf()"])
        self.assertEqual(done.returncode, 1)

    def test_python_from_stdin(self):
        self.check(["bash", "-c", "echo 'import os; print(os.getcwd()[-1:] != 0)' | python3"])

    def test_python_of_a_venv(self):
        venv = os.path.join(self.scratch, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        done = self.check([os.path.join(venv, "bin", "python"), "-c", "import sys; print(sys.prefix, sys.path)"])
        self.assertIn(venv.encode(), done.stdout)

    def test_bash(self):
        self.check(["bash", "-c", "true"])
        self.check(["bash", "-c", "echo $(ls / | wc -l); (exit 3) || exit 4"])

    def test_ls(self):
        self.check(["ls", "-l", "/usr"])

    def test_env(self):
        self.check(["env"], outcome=without_own)

    def test_git(self):
        self.check(["git", "--version"])

    def test_compiler(self):
        source = os.path.join(harness.ROOT, "tests", "victims", "threads_and_stacks", "throw.cpp")
        self.check(["bash", "-c", f"g++ -std=c++20 -pthread -o thrown '{source}' && ./thrown"])

    def test_next_descriptor(self):
        done = self.check([harness.victim("next_fd")])
        self.assertEqual([line.split(",")[0] for line in done.stdout.decode().splitlines()], ["next: 3"] * 2)

    def test_subprocess(self):
        self.check(["python3", harness.program("children.py")])

    def test_multiprocessing(self):
        for way in ("fork", "spawn", "forkserver"):
            with self.subTest(way):
                self.check(["python3", harness.program("workers.py"), way])

    def test_wrong_setting_is_named_once(self):
        done = self.run_in("traced", ["ls", "/"], self.environment(MEMTRACE_SAMPLE="many"))
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("MEMTRACE_SAMPLE", lines[0])
        self.assertEqual(done.returncode, 0)

    def test_switched_off(self):
        done = self.run_in("traced", ["python3", "-c", "b = bytearray(100 << 20)"], self.environment(MEMTRACE="0"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertFalse(os.path.exists(self.out))

    def test_one_line_when_recording_begins(self):
        done = self.run_in("traced", ["bash", "-c", "for i in 1 2; do python3 -c 'b = b\"x\" * (100 << 20)'; done"],
                           self.environment())
        self.assertEqual(done.stderr.decode(), f"memtrace: recording to {self.out}\n")
        self.assertEqual(len(self.trace_files()), 2)


if __name__ == "__main__":
    unittest.main()
