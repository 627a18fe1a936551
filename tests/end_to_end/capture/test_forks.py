"""Purpose: tests that programs do not notice the recorder's thread: os.fork() of CPython 3.12, unshare,
children."""
import glob
import os
import shutil
import unittest

import harness
import rawtrace


def python_312():
    """Returns a CPython of version 3.12 or later, which counts threads after a fork and warns."""
    found = [path for name in ("python3.12", "python3.13", "python3.14") if (path := shutil.which(name))]
    found += glob.glob(os.path.expanduser("~/.pyenv/versions/3.12*/bin/python3.12"))
    for path in found:
        probe = harness.subprocess.run([path, "-c", "import sys; raise SystemExit(sys.version_info < (3, 12))"],
                                       capture_output=True, check=False)
        if probe.returncode == 0:
            return path
    raise unittest.SkipTest("no CPython 3.12 or later on this machine")


class Forks(harness.Case):
    def test_fork_of_python_312_says_nothing(self):
        python = python_312()
        for settings in (harness.RECORD_ALL, {"MEMTRACE_QUIET": "1"}):
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.run_in("traced", [python, "-W", "error::DeprecationWarning", harness.program("forks.py")],
                               self.environment(**settings))
            self.assertEqual((done.stdout, done.stderr, done.returncode), (b"forked 20\n", b"", 0))
            self.assertTrue(self.trace_files(), "nothing was recorded")

    def test_children_have_traces_of_their_own(self):
        done, report = self.trace(["python3", harness.program("forks.py"), "hold"], {"MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        main = [process for process in report["processes"] if process["kind"] == "main"]
        children = [process for process in report["processes"] if process["kind"] != "main"]
        self.assertEqual((len(main), len(children)), (1, 2))
        for child in children:
            self.assertEqual(child["ppid"], main[0]["pid"])
            # 48 MiB are the parent's and 16 MiB the child's.
            self.assertGreater(harness.peak(child), 64 * harness.MIB)
            self.assertLess(harness.peak(child), 90 * harness.MIB)

    def test_unshare_in_a_recording_python(self):
        bare = self.bare(["python3", harness.program("unshare.py")])
        done = self.run_in("traced", ["python3", harness.program("unshare.py")],
                           self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
        self.assertTrue(self.trace_files())

    def test_unshare_command(self):
        bare = self.bare(["unshare", "-U", "true"])
        done = self.run_in("traced", ["unshare", "-U", "true"], self.environment(**harness.RECORD_ALL))
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))

    def test_fork_storm(self):
        """Many threads, many forks: no child hangs, each can allocate, and each has a whole trace of its own. In it is
        the block of 1 MiB that the child made and freed, and the child's parent is the process that forked it."""
        bare = self.bare([harness.victim("fork")], timeout=60)
        done, report = self.trace([harness.victim("fork")], harness.RECORD_ALL, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, bare.stdout, bare.stderr))
        processes = report["processes"]
        self.assertEqual(len(processes), 1 + int(done.stdout.split()[-1]))
        pids = {process["pid"] for process in processes}
        self.assertEqual(len(pids), len(processes))
        mains = [process["pid"] for process in processes if process["kind"] == "main"]
        self.assertEqual(len(mains), 1)
        for process in processes:
            self.assert_nothing_lost(process)
            self.assertEqual(process["end"]["how"], "exit")
            if process["pid"] != mains[0]:
                self.assertIn(process["ppid"], pids)
                self.assert_own_block(process["pid"])

    def assert_own_block(self, pid):
        [path] = [path for path in self.trace_files() if f"-{pid}-" in path]
        records, gaps = rawtrace.read(path)
        self.assertEqual(gaps, 0)
        made = [record.words[0] for record in records if record.type == "birth" and record.words[2] == 1 << 20]
        self.assertEqual(len(made), 1, f"blocks of 1 MiB that {pid} made")
        self.assertIn(made[0], [record.words[0] for record in records if record.type == "death"])


if __name__ == "__main__":
    unittest.main()
