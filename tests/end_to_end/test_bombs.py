"""Job: a trace of some kilobytes takes neither the machine's memory nor a day: a report, or one clear line."""
import os
import resource
import subprocess
import tempfile
import unittest

import bombs
from harness import COMMAND, MIB, bare_environment

MEMORY = 2048 * MIB  # of addresses: the budget is 1 GiB and 4 times the file
CPU = 60             # seconds: what is linear takes some; this is against what is not

# Bomb, size, arguments. Each took more than these limits, or a multiple of its size in work.
REPORTS = (("long_name", 128, ()),
           ("long_name", 128, ("--format", "json")),
           ("open_threads", 20000, ()),
           ("notes", 300000, ()),
           ("deep_stacks", 4000, ()),
           ("modules", 10000, ("--format", "json")),
           ("alike_steps", 15000, ()),
           ("false_headers", 200000, ()))
REFUSED = (("blocks_by_phases", 8000, ("--format", "json")),
           ("deep_stacks", 4000, ("--format", "json", "--all")))  # refused while a tree is destroyed


class Bombs(unittest.TestCase):
    def report(self, name, size, arguments):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, name + ".memtrace")
            with open(path, "wb") as file:
                file.write(getattr(bombs, name)(size))
            out = os.path.join(directory, "out")

            def limit():
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))

            run = subprocess.run([COMMAND, "report", "-o", out, *arguments, path], preexec_fn=limit,
                                 env=bare_environment(), capture_output=True, text=True)
            return run, os.path.getsize(out) if os.path.exists(out) else None, os.path.getsize(path)

    def test_linear(self):
        for name, size, arguments in REPORTS:
            with self.subTest(name=name, size=size, arguments=arguments):
                run, out, _ = self.report(name, size, arguments)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertLess(out, 64 * MIB)

    def test_what_is_too_much_is_refused_in_one_line(self):
        for name, size, arguments in REFUSED:
            with self.subTest(name=name, size=size, arguments=arguments):
                run, out, _ = self.report(name, size, arguments)
                self.assertEqual((run.returncode, out), (2, None), run.stderr)
                self.assertRegex(run.stderr, rf"\Amemtrace: \S*/{name}\.memtrace: a report would [^\n]*--steps"
                                             r"[^\n]*--unbounded[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
