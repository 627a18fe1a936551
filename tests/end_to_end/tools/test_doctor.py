"""Purpose: tests that memtrace doctor prints which features work here, and why others do not."""
import json
import os
import shutil
import subprocess
import unittest

import harness


class Doctor(harness.Case):
    def doctor(self, *options, **environment):
        done = subprocess.run([harness.COMMAND, "doctor", *options], env=harness.bare_environment(**environment),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def checks(self, **environment):
        document = json.loads(self.doctor("--format", "json", **environment))
        self.assertEqual(document["schema"], "memtrace.doctor/1")
        return {check["what"]: check for check in reversed(document["checks"])}

    def test_what_is_there(self):
        checks = self.checks()
        self.assertTrue(checks["tracing"]["works"], checks["tracing"])
        self.assertTrue(checks["Python"]["works"], checks["Python"])
        self.assertIn("frames are read", checks["Python"]["text"])

    def test_text_fits(self):
        lines = self.doctor().splitlines()
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertTrue(all(line.startswith(("yes ", "no  ", "    ")) for line in lines[1:]), lines)

    def test_the_verdict_is_first_then_what_limits_it(self):
        lines = self.doctor().splitlines()
        self.assertRegex(lines[0], r"^memtrace can record programs here: host memory yes, Python stacks yes, GPU ")
        if not os.path.exists("/dev/nvidiactl") and any(line.startswith("no  driver:") for line in lines):
            self.assertTrue(lines[0].endswith(", GPU no (no NVIDIA driver)"), lines[0])
        answers = [line[:3] for line in lines[1:] if not line.startswith("    ")]
        self.assertEqual(answers, sorted(answers), "each no comes before each yes")
        document = json.loads(self.doctor("--format", "json"))
        self.assertEqual((document["verdict"], document["records"]), (lines[0], True))

    def test_where_nothing_can_be_recorded(self):
        """An install without its library."""
        os.makedirs(os.path.join(self.scratch, "bin"))
        command = os.path.join(self.scratch, "bin", "memtrace")
        shutil.copy(harness.COMMAND, command)
        done = subprocess.run([command, "doctor"], env=harness.bare_environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, r"^memtrace cannot record programs here: ")

    def test_placeholders_are_explained(self):
        self.assertIn("memtrace-out/%j (%j is the job's id, new for each run)", self.checks()["traces"]["text"])
        where = os.path.join(self.scratch, "run-%p")
        self.assertTrue(self.checks(MEMTRACE_OUT=where)["traces"]["text"].endswith("/run-%p (%p is the pid)"))

    def test_no_driver(self):
        checks = self.checks()
        if os.path.exists("/dev/nvidiactl") or "driver" not in checks:
            self.skipTest("there is a driver here, or libmemtrace_cupti.so is not built")
        self.assertIn("libcuda.so.1 is not found", checks["driver"]["text"])
        self.assertFalse({"CUPTI", "NVML"} & set(checks), "they fail for the same reason: one line")

    def spool(self, **environment):
        here = os.path.join(self.scratch, "here")
        os.makedirs(here, exist_ok=True)
        check = self.checks(MEMTRACE_OUT=os.path.join(here, "job-%p"), **environment)["spool"]
        self.assertEqual(os.listdir(here), [], "nothing is left")
        return here, check

    def test_spool_beside_the_traces(self):
        here, check = self.spool()
        kind = subprocess.run(["stat", "-f", "-c", "%T", here], capture_output=True, text=True, check=True).stdout.strip()
        if kind not in ("ext2/ext3", "xfs", "btrfs", "overlayfs", "overlay"):
            self.skipTest(f"{here} is on {kind}")
        self.assertTrue(check["text"].startswith(f"rings go to {here}: "), check)
        self.assertIn(", local, ", check["text"])
        self.assertTrue(check["works"], check)

    def test_spool_in_memory(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("/dev/shm cannot be written")
        _, check = self.spool(MEMTRACE_SPOOL="/dev/shm")
        self.assertFalse(check["works"], check)
        self.assertIn("rings go to /dev/shm: tmpfs, in memory, ", check["text"])
        self.assertIn("set MEMTRACE_SPOOL to a directory on a local disk", check["text"])

    def test_spool_that_cannot_be(self):
        here, check = self.spool(MEMTRACE_SPOOL="/proc/no/such/place")
        self.assertFalse(check["works"], check)
        self.assertIn(f"rings go to {here}, for none can be in MEMTRACE_SPOOL=/proc/no/such/place", check["text"])

    def shared(self, base, **environment):
        here = os.path.join(self.scratch, "here")
        os.makedirs(here, exist_ok=True)
        checks = self.checks(MEMTRACE_OUT=os.path.join(here, "job-%p"), MEMTRACE_SPOOL=base, **environment)
        return here, checks.get("shared")

    def test_not_on_a_shared_file_system(self):
        self.assertIsNone(self.shared(self.scratch, MEMTRACE_SHARED="off")[1])

    def test_a_shared_file_system(self):
        _, check = self.shared(self.scratch, MEMTRACE_SHARED="on")
        kind = subprocess.run(["stat", "-f", "-c", "%T", self.scratch], capture_output=True, text=True, check=True).stdout
        if kind.strip() not in ("ext2/ext3", "xfs", "btrfs"):
            self.skipTest(f"{self.scratch} is on {kind}")
        self.assertTrue(check["works"], check)
        self.assertIn(f"each process records to {self.scratch} (", check["text"])
        self.assertRegex(check["text"], r"copies to \S+ every 30 s, at once near a limit, and at its end")
        self.assertNotIn("is removed with the job", check["text"])

    def test_a_local_disk_that_goes_with_the_job(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("/dev/shm cannot be written")
        _, check = self.shared("/dev/shm", MEMTRACE_SHARED="on")
        self.assertFalse(check["works"], check)
        self.assertRegex(check["text"], r"and copies to \S+ every 2 s")
        self.assertIn("/dev/shm is removed with the job: a kill then loses what was recorded since the last copy, and the "
                      "windows of a long run", check["text"])

    def test_taken(self):
        check = self.checks(CUDA_INJECTION64_PATH="/opt/other/tool.so")["CUDA_INJECTION64_PATH"]
        self.assertFalse(check["works"])
        self.assertIn("is taken by /opt/other/tool.so", check["text"])


if __name__ == "__main__":
    unittest.main()
