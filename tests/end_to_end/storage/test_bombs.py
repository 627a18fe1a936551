"""Purpose: tests that a trace of some kilobytes cannot exhaust memory or time: the result is a report, or one
clear line."""
import os
import resource
import subprocess
import tempfile
import unittest

import bombs
from harness import COMMAND, MIB, bare_environment

MEMORY = 2048 * MIB  # of address space: the budget is 1 GiB and 4 times the file
CPU = 60             # seconds: linear work takes some; this limit catches more than linear work

# Bomb, size, arguments. Each once took more than these limits, or a multiple of its size in work.
REPORTS = (("long_name", 128, ()),
           ("long_name", 128, ("--format", "json")),
           ("open_threads", 20000, ()),
           ("notes", 300000, ()),
           ("deep_stacks", 4000, ()),
           ("modules", 10000, ("--format", "json")),
           ("alike_steps", 15000, ()),
           ("false_headers", 200000, ()))
# Command, bomb, size, arguments. "explain" reads like these, then requires an optimizer's step.
OTHERS = (("postmortem", "open_threads", 20000, ("--format", "json")),
          ("postmortem", "deep_stacks", 4000, ("--format", "json")),
          ("diff", "open_threads", 20000, ()),
          ("diff", "alike_steps", 15000, ("--format", "json")))
REFUSED = (("blocks_by_phases", 8000, ("--format", "json")),
           ("deep_stacks", 4000, ("--format", "json", "--all")))  # refused while a tree is destroyed


class Bombs(unittest.TestCase):
    def run_on(self, name, size, arguments, command="report", evidence=None):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, name + ".memtrace")
            with open(path, "wb") as file:
                file.write(getattr(bombs, name)(size))
            out = os.path.join(directory, "out")
            traces = [path, path] if command == "diff" else [path]
            if evidence is not None:
                log = os.path.join(directory, "log")
                with open(log, "wb") as file:
                    file.writelines(evidence)
                arguments = (*arguments, "--evidence", log)

            def limit():
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))

            run = subprocess.run([COMMAND, command, "-o", out, *traces, *arguments], preexec_fn=limit,
                                 env=bare_environment(), capture_output=True, text=True)
            return run, os.path.getsize(out) if os.path.exists(out) else None

    def assert_written(self, run, out):
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertLess(out, 64 * MIB)

    def test_linear(self):
        for name, size, arguments in REPORTS:
            with self.subTest(name=name, size=size, arguments=arguments):
                self.assert_written(*self.run_on(name, size, arguments))

    def test_other_commands(self):
        for command, name, size, arguments in OTHERS:
            with self.subTest(command=command, name=name, size=size, arguments=arguments):
                self.assert_written(*self.run_on(name, size, arguments, command))

    def test_a_log_of_many_kills(self):
        """Each kill was compared with all kills before it: 400,000 took minutes."""
        kills = (b"[%.6f] Out of memory: Killed process %d (train) total-vm:%dkB, anon-rss:4kB, file-rss:0kB\n"
                 % (1 + i * 1e-6, i + 1, i + 8) for i in range(400000))
        self.assert_written(*self.run_on("open_threads", 2, (), "postmortem", evidence=kills))

    def test_what_is_too_much_is_refused_in_one_line(self):
        for name, size, arguments in REFUSED:
            with self.subTest(name=name, size=size, arguments=arguments):
                run, out = self.run_on(name, size, arguments)
                self.assertEqual((run.returncode, out), (2, None), run.stderr)
                self.assertRegex(run.stderr, rf"\Amemtrace: \S*/{name}\.memtrace: a report would [^\n]*--steps"
                                             r"[^\n]*--unbounded[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
