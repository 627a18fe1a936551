"""Purpose: tests that a traced program has the output and effects that it has without memtrace."""
import contextlib
import glob
import os
import subprocess
import sys
import time
import unittest

import compare
import harness


def without_own(text):
    """Returns the environment without the variables that the user sets for tracing."""
    return b"\n".join(line for line in text.split(b"\n")
                      if not line.startswith((b"LD_PRELOAD=", b"MEMTRACE")) and not line.startswith(b"_="))


def open_files(pid, thread):
    """Returns the files that a thread has open, without those that it closes meanwhile."""
    files = []
    for path in glob.glob(f"/proc/{pid}/task/{thread}/fd/*"):
        with contextlib.suppress(FileNotFoundError):
            files.append(os.readlink(path))
    return files


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

    def test_files_that_stay_open(self):
        """The background thread keeps files open in a table of its own. The program's threads have none of them."""
        program = ("import threading, time\nb = bytearray(100 << 20)\nprint(threading.get_native_id(), flush=True)\n"
                   "time.sleep(60)")
        with subprocess.Popen(["python3", "-c", program], stdout=subprocess.PIPE, text=True, cwd=self.scratch,
                              env=self.environment(MEMTRACE_QUIET="1")) as run:
            first = run.stdout.readline().strip()
            for _ in range(300):  # until the first passes
                time.sleep(0.1)
                files = {thread: open_files(run.pid, thread) for thread in os.listdir(f"/proc/{run.pid}/task")}
                if any(path.endswith(".memtrace") for paths in files.values() for path in paths):
                    break
            run.kill()
        self.assertFalse([path for path in files.pop(first) if "memtrace" in path or path.startswith("/proc")])
        self.assertEqual(len(files), 1, "the background thread")
        kept = [os.path.basename(path) for path in next(iter(files.values()))]
        self.assertEqual(len([name for name in kept if name.endswith(".memtrace")]), 1, kept)

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
