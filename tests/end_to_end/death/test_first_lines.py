"""Purpose: tests that the first lines of a post-mortem name the user's line and its bytes, for ordinary programs that
the kernel kills."""
import os
import signal
import unittest

import deaths
import harness

SCREEN = 12  # lines
# The program, its limit, the user's lines, the MiB that the program's first lines derive, and a part of the verdict.
PROGRAMS = (("gpt_logits_leak.py", "1200M", [17], [16], "Memory grows by 16.00 MiB every step"),
            ("prep_then_train.py", "1000M", [10], [381.5], "it was writing to a new block of 381.47 MiB"),
            ("ck_oom.py", "900M", [8], [384], "written to memory by torch.save"))


class FirstLines(deaths.Case):
    def test_programs(self):
        for name, limit, lines, sizes, verdict in PROGRAMS:
            with self.subTest(name):
                self.new_scratch()
                group = self.group(limit)
                command = [harness.torch_python(), harness.workload(os.path.join("everyday", name))]
                done = self.run_in("traced", group.inside(command), self.environment(
                    MEMTRACE_QUIET="1", PYTHONPATH=harness.packages("datasets")))
                self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr.decode(errors="replace"))
                screen = " ".join(self.postmortem_text().splitlines()[:SCREEN])
                self.assertIn(verdict, screen)
                self.assert_on(screen, name, lines, sizes)


if __name__ == "__main__":
    unittest.main()
