"""Purpose: runs a command bare and traced in several ways, and compares the results."""
import os
import shutil

import harness

DEFAULTS = ("defaults", {})
RECORDING = ("recording", harness.RECORD_ALL)
BOUNDED = ("bounded", {**harness.RECORD_ALL, "MEMTRACE_MAX_TRACE": "1M"})


class InvisibleCase(harness.Case):
    def listing(self, folder):
        return sorted(os.path.relpath(os.path.join(at, name), folder)
                      for at, folders, files in os.walk(folder) for name in folders + files)

    def check(self, command, outcome=lambda data: data, records=False, environment=None, modes=(DEFAULTS, RECORDING),
              leaves_rings=False):
        """Checks that output, status and files are equal bare and in each mode, and that the traces can be
        read."""
        bare = self.bare(command, environment)
        bare_files = self.listing(os.path.join(self.scratch, "bare"))
        for mode, settings in modes:
            with self.subTest(mode):
                shutil.rmtree(os.path.join(self.scratch, "traced"), ignore_errors=True)
                shutil.rmtree(self.out, ignore_errors=True)
                done = self.run_in("traced", command, self.environment(**settings, **(environment or {})))
                errors = done.stderr
                if mode == "defaults" and records is not False:
                    errors = b"".join(line for line in errors.splitlines(keepends=True)
                                      if not line.startswith(b"memtrace: recording to "))
                self.assertEqual(outcome(done.stdout), outcome(bare.stdout))
                self.assertEqual(errors, bare.stderr)
                self.assertEqual(done.returncode, bare.returncode)
                self.assertEqual(self.listing(os.path.join(self.scratch, "traced")), bare_files, "stray files")
                if mode != "defaults":
                    self.assertTrue(self.trace_files(), "nothing was recorded")
                    if not leaves_rings:
                        self.assertEqual(self.ring_files(), [])
                    self.check_report(mode, self.report())
                elif records is False:
                    self.assertFalse(os.path.exists(self.out), "a small process left files")
        return bare

    def check_report(self, mode, report):
        """Override for tests that know the content of the report."""
