"""Job: a command bare, traced with the defaults, and recording from its first block: the same three times."""
import os
import shutil

import harness


class InvisibleCase(harness.Case):
    def listing(self, folder):
        return sorted(os.path.relpath(os.path.join(at, name), folder)
                      for at, folders, files in os.walk(folder) for name in folders + files)

    def check(self, command, outcome=lambda data: data, records=False, environment=None):
        """Bare, with the defaults, and recording from the first block: the same three times."""
        bare = self.bare(command, environment)
        bare_files = self.listing(os.path.join(self.scratch, "bare"))
        for mode, settings in (("defaults", {}), ("recording", harness.RECORD_ALL)):
            with self.subTest(mode):
                shutil.rmtree(os.path.join(self.scratch, "traced"), ignore_errors=True)
                shutil.rmtree(self.out, ignore_errors=True)
                done = self.run_in("traced", command, self.environment(**settings, **(environment or {})))
                errors = done.stderr
                if mode == "defaults" and records:
                    errors = b"".join(line for line in errors.splitlines(keepends=True)
                                      if not line.startswith(b"memtrace: recording to "))
                self.assertEqual(outcome(done.stdout), outcome(bare.stdout))
                self.assertEqual(errors, bare.stderr)
                self.assertEqual(done.returncode, bare.returncode)
                self.assertEqual(self.listing(os.path.join(self.scratch, "traced")), bare_files, "stray files")
                if mode == "recording":
                    self.assertTrue(self.trace_files(), "nothing was recorded")
                    self.assertEqual(self.ring_files(), [])
                    self.report()
                elif not records:
                    self.assertFalse(os.path.exists(self.out), "a small process left files")
        return bare
