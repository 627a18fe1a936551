"""Purpose: tests that a shell which evaluates the lines of `memtrace env` traces what it starts, and that the values
arrive byte for byte.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

import harness

SHELLS = ("sh", "bash", "dash", "ksh", "zsh")
HARD = "a'b \"c\" $HOME `id` \\ \\' * ~ ;&|\n#x\té"
HOLDS = "held = bytearray(b'x' * (50 << 20))"


class Env(harness.Case):
    def env(self, *options, command=harness.COMMAND, **environment):
        return subprocess.run([command, "env", *options], env=harness.bare_environment(**environment),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)

    def lines(self, *options, **environment):
        done = self.env(*options, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def evaluated(self, shell, *options, then="", **environment):
        """Returns the environment of a program that a shell starts after it evaluated the lines."""
        script = f'eval "$("$@")"; {then} exec {sys.executable} -c "import os, json; print(json.dumps(dict(os.environ)))"'
        done = subprocess.run([shell, "-c", script, "-", harness.COMMAND, "env", *options], capture_output=True, text=True,
                              env=harness.bare_environment(**environment), stdin=subprocess.DEVNULL, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_values_arrive_in_each_shell(self):
        for shell in filter(shutil.which, SHELLS):
            with self.subTest(shell):
                seen = self.evaluated(shell, "-o", HARD, "--skip", "", "--min-peak", "64M", "--quiet")
                self.assertEqual({**seen, "MEMTRACE_OUT": HARD, "MEMTRACE_SKIP": "", "MEMTRACE_MIN_PEAK": "64M",
                                  "MEMTRACE_QUIET": "1"}, seen)
                self.assertEqual(seen["LD_PRELOAD"], harness.LIBRARY)

    def test_a_program_is_traced(self):
        script = f'eval "$({harness.COMMAND} env -o {self.out})"; {sys.executable} -c "{HOLDS}"'
        done = self.run_in("traced", ["sh", "-c", script], harness.bare_environment())
        self.assertEqual((done.returncode, done.stderr.decode()), (0, f"memtrace: recording to {self.out}\n"))
        self.assertGreater(harness.peak(self.only_process(self.report())), 50 << 20)

    def test_other_objects_stay_behind_it(self):
        before = "/lib/x86_64-linux-gnu/libm.so.6"
        if not os.path.exists(before):
            self.skipTest(f"no {before}")
        self.assertIn(f"export LD_PRELOAD='{harness.LIBRARY}:{before}'\n", self.lines(LD_PRELOAD=before))
        again = f"{before}:{harness.LIBRARY}"
        self.assertIn(f"export LD_PRELOAD='{again}'\n", self.lines(LD_PRELOAD=again))

    def test_it_is_undone(self):
        before = "/lib/x86_64-linux-gnu/libm.so.6"
        undo = f'eval "$({harness.COMMAND} env --unset)";'
        seen = self.evaluated("sh", "-o", "x", "--quiet", then=undo)
        self.assertEqual([name for name in seen if name.startswith(("MEMTRACE", "LD_PRELOAD"))], [])
        if os.path.exists(before):
            self.assertEqual(self.evaluated("sh", "-o", "x", then=undo, LD_PRELOAD=before)["LD_PRELOAD"], before)

    def test_json_has_the_same(self):
        document = json.loads(self.lines("-o", HARD, "--format", "json"))
        self.assertEqual(document, {"schema": "memtrace.env/1",
                                    "variables": {"MEMTRACE_OUT": HARD, "LD_PRELOAD": harness.LIBRARY}})
        undone = json.loads(self.lines("--unset", "--format", "json"))["variables"]
        self.assertLessEqual({"LD_PRELOAD", "MEMTRACE_OUT", "MEMTRACE_QUIET"}, undone.keys())
        self.assertEqual(set(undone.values()), {None})

    def test_values_are_checked_as_those_of_run(self):
        done = self.env("--min-peak", "lots")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--min-peak: lots is not a size", done.stderr)

    def test_a_path_that_the_loader_would_split(self):
        for name in ("a b", "a:b"):
            with self.subTest(name):
                prefix = os.path.join(self.scratch, name)
                for folder, file in (("bin", harness.COMMAND), ("lib", harness.LIBRARY)):
                    os.makedirs(os.path.join(prefix, folder))
                    shutil.copy(file, os.path.join(prefix, folder))
                done = self.env(command=os.path.join(prefix, "bin", "memtrace"))
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("LD_PRELOAD cannot hold a path with a space or a colon", done.stderr)


if __name__ == "__main__":
    unittest.main()
