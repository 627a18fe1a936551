"""Purpose: tests that a process that does nothing costs next to nothing, and that a late start loses nothing."""
import os
import re
import shutil
import subprocess
import unittest

import harness
import rawtrace

# At most so many more page faults than with an empty preload object: one each of code, constants and data, and two of the
# handlers of fork in libc (docs/decisions/0078). The rest is for other kernels.
FAULTS = 10


class Start(harness.Case):
    def setUp(self):
        super().setUp()
        source = os.path.join(self.folder("empty"), "empty.c")
        with open(source, "w", encoding="ascii"):
            pass
        self.empty = source[:-1] + "so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.empty, source], check=True)

    def folder(self, name):
        path = os.path.join(self.scratch, name)
        os.makedirs(path, exist_ok=True)
        return path

    def environment_with(self, library, **more):
        return {**harness.bare_environment(**{"MEMTRACE_OUT": self.out, **more}), "LD_PRELOAD": library}

    def system_calls(self, library, command, **more):
        """Returns the names of the system calls of a run after the loader's, as strace sees them. The loader's last call
        unmaps its cache."""
        path = os.path.join(self.folder("strace"), "calls")
        environment = self.environment_with(library, **more)
        passed = [word for key in environment for word in ("-E", f"{key}={environment[key]}")
                  if key == "LD_PRELOAD" or key.startswith("MEMTRACE")]
        subprocess.run(["strace", "-o", path, *passed, *command], check=True, env=harness.bare_environment())
        with open(path, encoding="utf-8", errors="replace") as lines:
            names = [match.group(1) for line in lines if (match := re.match(r"(\w+)\(", line))]
        return names[len(names) - names[::-1].index("munmap"):]

    def page_faults(self, library):
        """Returns the least number of minor faults of several runs of `true`: the kernel maps more or fewer pages at once."""
        least = None
        for _ in range(5):
            pid = os.posix_spawn("/bin/true", ["true"], self.environment_with(library))
            _, status, used = os.wait4(pid, 0)
            self.assertEqual(status, 0)
            least = used.ru_minflt if least is None else min(least, used.ru_minflt)
        return least

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_a_process_without_an_event_makes_three_calls(self):
        """The time and the pid are in the job's name, and the directory in its pattern."""
        bare = self.system_calls(self.empty, ["/bin/true"])
        self.assertEqual(bare, ["exit_group"], "`true` allocates here, so the recorder starts")
        traced = self.system_calls(harness.LIBRARY, ["/bin/true"], MEMTRACE_OUT="out/%j")
        self.assertEqual(traced, ["clock_gettime", "getpid", "getcwd", *bare])

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_a_process_of_a_job_without_an_event_makes_no_call(self):
        job = {"MEMTRACE_JOB": f"20260101-000000-1;{self.out}", "MEMTRACE_FOUNDED": "1 1 0"}
        self.assertEqual(self.system_calls(harness.LIBRARY, ["/bin/true"], **job), ["exit_group"])

    def test_a_process_without_an_event_touches_few_pages(self):
        more = self.page_faults(harness.LIBRARY) - self.page_faults(self.empty)
        self.assertLessEqual(more, FAULTS)

    def test_a_setting_that_asks_for_a_trace_has_one(self):
        """`true` has no event, but MEMTRACE_MIN_PEAK=0 asks for a trace of each process."""
        done = self.run_in("traced", ["/bin/true"], self.environment(MEMTRACE_MIN_PEAK="0"))
        self.assertEqual(done.returncode, 0, done.stderr)
        process = self.only_process(self.report())
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))

    def test_a_wrong_setting_is_named(self):
        done = self.run_in("traced", ["/bin/true"], self.environment(MEMTRACE_STACKS="both ways"))
        self.assertIn(b"MEMTRACE_STACKS=both ways cannot be read", done.stderr)

    def test_a_job_of_processes_without_an_event_is_one_job(self):
        """The founder, a program that only waits for its children, names the job before any of them starts."""
        victim = harness.victim("quiet_parent")
        done = self.run_in("traced", [victim], self.environment())
        first, second = done.stdout.decode().split()
        self.assertRegex(first, r"^\d{8}-\d{6}-\d+;/")
        self.assertEqual(first, second)

    def test_a_fork_before_the_first_event_names_its_parent(self):
        done = self.run_in("traced", [harness.victim("quiet_parent"), "fork"], self.environment())
        parent, child = (int(word) for word in done.stdout.split())
        (path,) = self.trace_files()
        self.assertIn(f"-{child}-", path)
        forks = [record.words[0] & 0xFFFFFFFF for record in rawtrace.read(path)[0] if record.type == "fork"]
        self.assertEqual(forks, [parent])

    def test_a_child_of_vfork_leaves_the_start_to_its_parent(self):
        """The child allocates first, in its parent's memory. The parent's trace then has the parent's pid and end."""
        done = self.run_in("traced", [harness.victim("quiet_parent"), "vfork"], self.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        process = self.only_process(self.report())
        self.assertEqual(process["pid"], int(done.stdout))
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))


if __name__ == "__main__":
    unittest.main()
