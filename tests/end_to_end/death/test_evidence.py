"""Purpose: tests evidence of an orchestrator or of another kernel log: memtrace uses it only if it is about the
process."""
import json
import os
import signal
import subprocess
import time
import unittest

import deaths
import harness


class Brought(deaths.Case):
    """Evidence from outside, about a process that was killed from outside. Without it the cause is unknown."""

    def setUp(self):
        super().setUp()
        with subprocess.Popen(["python3", harness.program("ending.py"), "wait"], stdout=subprocess.PIPE,
                              env=self.environment(MEMTRACE_QUIET="1")) as process:
            process.stdout.readline()
            process.kill()
        self.boot, self.unix = time.monotonic(), time.time()
        self.assertEqual(self.ended()[0], "unknown")

    def brought(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def ended(self, *options):
        process = self.only_process(self.postmortem(*options))
        return process["end"]["how"], process["end"]["code"], "\n".join(process["end"]["evidence"])

    def pod(self, reason, code, unix):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix))
        return self.brought(f"pod-{reason}.json", json.dumps({
            "kind": "Pod", "metadata": {"name": "train-0"},
            "spec": {"containers": [{"name": "main", "resources": {"limits": {"memory": "256Mi"}}}]},
            "status": {"containerStatuses": [{"name": "main", "lastState": {"terminated": {
                "reason": reason, "exitCode": code, "finishedAt": stamp}}}]}}))

    def test_a_pod(self):
        how, _, evidence = self.ended("--evidence", self.pod("OOMKilled", 137, self.unix))
        self.assertEqual(how, "oom_kill")
        self.assertIn("OOMKilled, exit 137", evidence)
        self.assertEqual(self.ended()[0], "oom_kill", "the second reading has lost it")
        self.assertTrue(self.postmortem_text().startswith("Killed for memory"))
        self.assertEqual(self.report()["processes"][0]["end"]["how"], "oom_kill")

    def test_a_pod_of_another_time(self):
        self.assertEqual(self.ended("--evidence", self.pod("OOMKilled", 137, self.unix - 3600))[0], "unknown")

    def test_a_pod_that_does_not_say_why(self):
        how, code, _ = self.ended("--evidence", self.pod("Error", 137, self.unix))
        self.assertEqual((how, code), ("unknown", signal.SIGKILL))

    def test_sacct(self):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.unix))
        path = self.brought("sacct.txt", "JobID|State|ExitCode|End|ReqMem|\n"
                                         f"7.0|OUT_OF_MEMORY|0:125|{stamp}|256M|\n")
        how, _, evidence = self.ended("--evidence", path)
        self.assertEqual(how, "oom_kill")
        self.assertIn("OUT_OF_MEMORY", evidence)

    def test_a_kernels_log(self):
        pid = self.only_process(self.report())["pid"]
        line = "[{:.6f}] Memory cgroup out of memory: Killed process {} (python3) total-vm:9kB, anon-rss:104000kB, " \
               "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0\n"
        path = self.brought("dmesg.txt", line.format(self.boot, pid + 1))
        self.assertEqual(self.ended("--evidence", path)[0], "unknown")
        path = self.brought("dmesg.txt", line.format(self.boot, pid))
        self.assertEqual(self.ended("--evidence", path)[0], "oom_kill")

    def test_what_is_none_of_these(self):
        for name, text in (("empty", ""), ("other.json", "{}"), ("words", "nothing of that kind\n")):
            done = subprocess.run([harness.COMMAND, "postmortem", self.out, "--evidence", self.brought(name, text)],
                                  env=harness.bare_environment(), capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertIn(name.encode(), done.stderr)


if __name__ == "__main__":
    unittest.main()
