"""Purpose: tests that a musl program runs under `memtrace run` without the preload object, and that a line says
so."""
import os
import shutil
import subprocess
import unittest

import harness


class Musl(harness.Case):
    def setUp(self):
        super().setUp()
        if shutil.which("musl-gcc") is None:
            self.skipTest("no musl-gcc: run scripts/setup")
        self.program = os.path.join(self.scratch, "musl_program")
        subprocess.run(["musl-gcc", "-x", "c", "-", "-o", self.program], check=True,
                       input=b'#include <stdio.h>\nint main(void) { puts("ran"); return 3; }\n')

    def run_it(self, *command):
        return subprocess.run([harness.COMMAND, "run", "-o", self.out, "--", *command], env=self.installed(), check=False,
                              capture_output=True, timeout=60)

    def installed(self):
        return harness.bare_environment(PATH=self.scratch + ":" + os.environ["PATH"])

    def check_said(self, done, name):
        self.assertEqual((done.returncode, done.stdout), (3, b"ran\n"), done.stderr)
        self.assertRegex(done.stderr.decode(),
                         rf"\Amemtrace: run: {name} is not traced: its loader is musl's \(/lib/ld-musl-x86_64\.so\.1\), "
                         r"and memtrace needs glibc\n\Z")
        self.assertEqual(self.trace_files(), [])

    def test_it_does_not_start_with_the_preload_object(self):
        done = subprocess.run([self.program], env=self.environment(), check=False, capture_output=True)
        self.assertEqual(done.returncode, 127, "the reason for all of this has gone: trace it")

    def test_by_path(self):
        self.check_said(self.run_it(self.program), self.program)

    def test_by_name(self):
        self.check_said(self.run_it("musl_program"), "musl_program")

    def test_by_a_script(self):
        for number, first in enumerate((f"#!{self.program}", "#!/usr/bin/env musl_program")):
            script = os.path.join(self.scratch, f"script-{number}")
            with open(script, "w", encoding="utf-8") as file:
                file.write(first + "\n")
            os.chmod(script, 0o755)
            self.check_said(self.run_it(script), script)

    def test_others_are_traced(self):
        done = self.run_it("/bin/true")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertNotIn(b"musl", done.stderr)


if __name__ == "__main__":
    unittest.main()
