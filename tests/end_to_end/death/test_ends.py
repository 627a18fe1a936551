"""Purpose: tests that each end gets its name, and that only a kernel's kill for memory gets that name.

Truth: the status that the parent sees, the kernel's log and counters, and the program's known actions.
"""
import os
import signal
import subprocess
import sys
import unittest

import cgroup
import deaths
import harness


class Ends(deaths.Case):
    """Ends of other kinds, in a cgroup with much or little free memory."""
    MEMORY = ("oom-kill", "allocation-failed", "second-copy-on-load", "shm-full", "cuda-oom")

    def end(self, *arguments, limit="4096M", prefix=(), status=None):
        group = self.group(limit)
        command = [*prefix, "python3", harness.program("ending.py"), *arguments]
        done = self.run_in("traced", group.inside(command), self.environment(MEMTRACE_QUIET="1"))
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        self.kills = group.kills()
        self.said = done.stdout.decode()
        return self.only_process(self.postmortem())

    def assert_not_for_memory(self, process):
        self.assertNotEqual(process["end"]["how"], "oom_kill")
        self.assertEqual([one for one in self.findings(process) if one in self.MEMORY], [])
        self.assertNotIn("Killed for memory", self.postmortem_text())

    def test_segfault(self):
        process = self.end("segfault", status=-signal.SIGSEGV)
        self.assert_not_for_memory(process)
        if cgroup.dmesg() and f"python3[{process['pid']}]: segfault" in cgroup.dmesg():
            self.assertEqual((process["end"]["how"], process["end"]["code"]), ("signal", signal.SIGSEGV))

    def test_exit_at_once(self):
        process = self.end("_exit", status=3)
        self.assert_not_for_memory(process)
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 3))

    def test_abort(self):
        """The trace has the call of abort, so no other process must have seen the status."""
        process = self.end("abort", status=-signal.SIGABRT)
        self.assert_not_for_memory(process)
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("signal", signal.SIGABRT))
        self.assertIn("abort()", "\n".join(process["end"]["evidence"]))

    def test_an_abort_that_a_handler_jumps_out_of(self):
        """The program goes on and is killed later: the abort was not its end."""
        done = self.run_in("traced", [harness.victim("survive_abort")], self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGKILL)
        process = self.only_process(self.postmortem())
        self.assert_not_for_memory(process)
        self.assertEqual(process["end"]["how"], "unknown")
        self.assertIn("went on", "\n".join(process["end"]["evidence"]))

    def test_sigkill_after_an_exec_that_failed(self):
        program = '''import os, signal
try:
    os.execv("/no/such/program", ["none"])
except OSError:
    held = bytearray(50 << 20)
    os.kill(os.getpid(), signal.SIGKILL)
'''
        done = subprocess.run([sys.executable, "-c", program], env=self.environment(**harness.RECORD_ALL), check=False,
                              capture_output=True)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        process = self.only_process(self.postmortem())
        self.assertEqual(process["end"]["how"], "unknown", "it did not become another program")
        self.assertGreater(process["death"]["live"], 50 << 20)

    def test_sigkill_in_a_group_at_its_limit(self):
        """The process is close to the limit, but its end is not an OOM kill: the kernel's log does not have it.
        """
        process = self.end("kill", limit="130M", status=-signal.SIGKILL)
        self.assertEqual(self.kills, 0)
        self.assert_not_for_memory(process)
        self.assertEqual(process["end"]["how"], "unknown")
        self.assertIn("cause unknown", self.postmortem_text().splitlines()[0])

    def test_sigkill_beside_a_kill_of_another_process(self):
        """Its group has counted a kill meanwhile: the log says that it was another process."""
        group = self.group("300M")
        with subprocess.Popen(group.inside(["python3", harness.program("ending.py"), "wait"]),
                              env=self.environment(MEMTRACE_QUIET="1"), stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            other = subprocess.run(group.inside(["python3", "-c", "b = b'x' * (400 << 20)"]), check=False,
                                   env=harness.bare_environment())
            self.assertEqual(other.returncode, -signal.SIGKILL)
            process.kill()
        self.assertEqual(group.kills(), 1)
        process = self.only_process(self.postmortem())
        self.assert_not_for_memory(process)
        self.assertEqual(process["end"]["how"], "unknown")

    def test_memory_error(self):
        process = self.end("MemoryError", "1024", status=1)
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 1))
        self.assertEqual([one for one in self.findings(process) if one in self.MEMORY], ["allocation-failed"])
        self.assertEqual(process["findings"][0]["bytes"] // harness.MIB, 64)
        self.assertEqual((process["death"]["limit"], process["death"]["limit_of"]), (1024 * harness.MIB, "RLIMIT_AS"))
        self.assertIn("ending.py", str(deaths.lines_of(process["findings"][0]["site"])))
        self.assertIn("RLIMIT_AS", " ".join(self.postmortem_text().splitlines()[:2]))
        # All of it was freed while the exception went up: the report must have the blocks at the failure.
        held = 100 + 64 * self.taken()
        self.assertLess(abs(process["death"]["live"] / harness.MIB - held), 10)
        self.assertIn("held when it failed", self.postmortem_text())

    def taken(self):
        """Returns the number of blocks of 64 MiB that the program reports."""
        return int(self.said.split()[-1])

    def test_bad_alloc(self):
        """The exception is not caught: the process aborts, and the trace has the failure and the abort."""
        group = self.group("4096M")
        done = self.run_in("traced", group.inside([harness.victim("bad_alloc")]),
                           self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
        process = self.only_process(self.postmortem())
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("signal", signal.SIGABRT))
        self.assertEqual([one for one in self.findings(process) if one in self.MEMORY], ["allocation-failed"])
        self.assertEqual(process["findings"][0]["bytes"], 32 * harness.MIB)
        self.assertEqual(process["death"]["limit_of"], "RLIMIT_AS")

    def test_a_full_shm(self):
        """A small /dev/shm in its own mount namespace; a write without free space ends in SIGBUS."""
        inner = ["sh", "-c", "mount -t tmpfs -o size=64m none /dev/shm && exec \"$@\"", "sh"]
        process = self.end("shm", "128", prefix=("unshare", "-m", *inner), status=-signal.SIGBUS)
        self.assertNotEqual(process["end"]["how"], "oom_kill")
        self.assertEqual([one for one in self.findings(process) if one in self.MEMORY], ["shm-full"])
        self.assertEqual(process["findings"][0]["bytes"], 128 * harness.MIB)
        self.assertEqual((process["death"]["limit"], process["death"]["limit_of"]), (64 * harness.MIB, "/dev/shm"))

    def test_cuda_out_of_memory(self):
        """The runtime refuses 2 TiB on a GPU of 80 GiB, and the program gives up."""
        library = os.path.join(harness.FAKES, "libcudart.so.13")
        command = ["python3", harness.program("cuda_oom.py"), library, "3"]
        done = self.run_in("traced", command, self.environment(MEMTRACE_QUIET="1", MEMTRACE_CUPTI="on"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"CUDA error 2", done.stderr)
        process = self.only_process(self.postmortem())
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 1))
        found = self.findings(process)
        self.assertEqual([one for one in found if one in self.MEMORY], ["cuda-oom"])
        self.assertEqual((found["cuda-oom"]["memory"], found["cuda-oom"]["bytes"]), ("cuda:0", 1 << 41))
        self.assertIn("cuda_oom.py", str(deaths.lines_of(found["cuda-oom"]["site"])))
        death = process["death"]
        self.assertEqual((death["memory"], death["live"]), ("cuda:0", 3 * 40 * harness.MIB))
        self.assertEqual((death["limit"], death["limit_of"]), (80 << 30, "cuda:0"))
        self.assertEqual(sum(row["bytes"] for row in death["held"]), 3 * 40 * harness.MIB)
        text = self.postmortem_text()
        self.assertTrue(text.startswith("Gave up (likely) outside training: an allocation of 2048.00 GiB at cuda_oom.py:19 failed on cuda:0"), text)
        self.assertIn("held on cuda:0", text)

    def test_killed_as_soon_as_it_records(self):
        """The kill comes some 60 MiB after the recording began: there were two samples at most."""
        command = "b = b'x' * (40 << 20)\nc = b'y' * (400 << 20)"
        group = self.group("100M")
        done = self.run_in("traced", group.inside(["python3", "-c", command]), self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGKILL)
        process = self.only_process(self.postmortem())
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertEqual(process["death"]["limit"], 100 * harness.MIB)
        self.assertEqual(process["death"]["filling"]["bytes"] // harness.MIB, 400)
        self.assert_nothing_lost(process)

    def test_killed_by_an_ancestor(self):
        outer = self.group("200M")
        inner = self.group("1024M", below=outer)
        done = self.run_in("traced", inner.inside(["python3", harness.program("ending.py"), "at once", "300"]),
                           self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGKILL)
        process = self.only_process(self.postmortem())
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertEqual(process["death"]["limit"], 200 * harness.MIB)
        self.assertTrue(process["death"]["limit_of"].endswith(outer.path), process["death"]["limit_of"])
        self.assertIn("above its own", "\n".join(process["end"]["evidence"]))

    def test_killed_in_a_pid_namespace(self):
        """The log has another pid; time, cgroup and size identify this process."""
        process = self.end("at once", "300", limit="200M", prefix=("unshare", "-p", "-f", "--kill-child"))
        self.assertEqual(self.kills, 1)
        self.assertLess(process["pid"], 10)
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertEqual(self.findings(process)["oom-kill"]["confidence"], "certain")


if __name__ == "__main__":
    unittest.main()
