"""Purpose: tests memtrace as a container runs it: a user whose number has no name, no HOME, a read-only root and 64 MiB
of /dev/shm, in a user namespace. A run is traced, reported and explained there, and the lines of doctor are true.
"""
import json
import os
import re
import shlex
import subprocess
import unittest

import harness

USER = 54321  # no account has this number
PYTHON = "/usr/bin/python3"
HOLDS = "held = bytearray(b'x' * (50 << 20)); print(len(held))"
DIES = "import os, signal; held = bytearray(b'x' * (50 << 20)); os.kill(os.getpid(), signal.SIGKILL)"
WORKERS = ("import multiprocessing as m; p = m.get_context('forkserver').Pool(1); "
           "print(p.map(bytearray, [50 << 20]) != []); p.close(); p.join()")
SETUP = ("mount --make-rprivate / && mount -t tmpfs -o size=64m,mode=1777 shm /dev/shm && "
         "mount -t tmpfs -o size=512m,mode=1777 volume {volume} && mount -o remount,bind,ro /")


class RandomUser(harness.Case):
    def setUp(self):
        super().setUp()
        self.volume = os.path.join(self.scratch, "volume")
        os.mkdir(self.volume)
        done = self.inside("id -u && ! test -w / && ! test -w .")
        if done.returncode != 0:
            self.skipTest(f"this machine does not allow such a namespace: {done.stderr[-200:]}")
        self.assertEqual(done.stdout, f"{USER}\n")

    def inside(self, script, **environment):
        """Runs a shell in the namespace. Its volume is the same for each command of the script, and is then gone."""
        setup = SETUP.format(volume=shlex.quote(self.volume))
        user = f"exec unshare --user --map-user={USER} --map-group={USER} sh -c {shlex.quote(script)}"
        settings = {name: value for name, value in harness.bare_environment(**environment).items() if name != "HOME"}
        return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"{setup} && {user}"],
                              cwd=self.scratch, env=settings, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=120)

    def run_line(self, code, *options):
        return shlex.join([harness.COMMAND, "run", *options, "--", PYTHON, "-c", code])

    def doctor(self, then="true", **environment):
        """Returns the checks of doctor, and what the command after it prints."""
        done = self.inside(f"{harness.COMMAND} doctor --format json; echo; {then}", **environment)
        text, _, rest = done.stdout.partition("\n}\n")
        return {check["what"]: check for check in json.loads(text + "}")["checks"]}, rest, done.stderr

    def test_a_volume(self):
        out = os.path.join(self.volume, "traces")
        done = self.inside(f"{self.run_line(HOLDS, '-o', out)} && {harness.COMMAND} report {out}")
        self.assertEqual((done.returncode, done.stderr), (0, f"memtrace: recording to {out}\n"))
        self.assertTrue(done.stdout.startswith("52428800\n"), done.stdout)
        self.assertRegex(done.stdout, r"finished after .* allocated 10\d\.\d+ MiB at most")

    def test_a_post_mortem(self):
        out = os.path.join(self.volume, "traces")
        done = self.inside(f"{self.run_line(DIES, '-o', out)}; echo status $?; {harness.COMMAND} postmortem {out}")
        self.assertEqual((done.returncode, done.stderr.splitlines()[:1]), (0, [f"memtrace: recording to {out}"]))
        self.assertIn("status 137\n", done.stdout)
        self.assertIn("signal 9", done.stdout)

    def test_traces_and_rings_in_shm(self):
        done = self.inside(f"{self.run_line(HOLDS, '-o', '/dev/shm/traces')} && {harness.COMMAND} report /dev/shm/traces")
        self.assertEqual((done.returncode, done.stderr), (0, "memtrace: recording to /dev/shm/traces\n"))
        self.assertRegex(done.stdout, r"allocated 10\d\.\d+ MiB at most")

    def test_the_fallback_is_what_doctor_says(self):
        checks, rest, errors = self.doctor(f"{self.run_line(HOLDS)} && ls -A $TMPDIR && {harness.COMMAND} report "
                                           f"$TMPDIR/memtrace-{USER}/*", TMPDIR=self.volume)
        self.assertFalse(checks["traces"]["works"])
        without_job = lambda text: re.sub(r"\d{8}-\d{6}-\d+", "JOB", text)
        said = without_job(errors.splitlines()[0].removeprefix("memtrace: "))
        self.assertTrue(said.startswith(f"recording to {self.volume}/memtrace-{USER}/JOB (cannot write in "), said)
        self.assertIn(f'memtrace says "{said}"', without_job(checks["traces"]["text"]))
        self.assertTrue(checks["tracing"]["works"], checks["tracing"])
        self.assertTrue(rest.lstrip().startswith(f"52428800\nmemtrace-{USER}\n"), "doctor leaves nothing: " + rest)
        self.assertRegex(rest, r"allocated 10\d\.\d+ MiB at most")

    def test_no_place_is_what_doctor_says(self):
        checks, rest, errors = self.doctor(self.run_line(HOLDS))
        said = re.sub(r"\d{8}-\d{6}-\d+", "JOB", errors.splitlines()[0].removeprefix("memtrace: "))
        self.assertTrue(said.startswith("not recording: "), said)
        self.assertIn(f'memtrace says "{said}"', re.sub(r"\d{8}-\d{6}-\d+", "JOB", checks["traces"]["text"]))
        self.assertEqual(rest.strip(), "52428800", "the program runs as without memtrace")

    def test_the_user_and_dev_shm(self):
        checks, _, _ = self.doctor(TMPDIR=self.volume)
        self.assertTrue(checks["user"]["works"])
        self.assertEqual(checks["user"]["text"], f"{USER}, without a name and HOME: memtrace needs neither")
        self.assertFalse(checks["/dev/shm"]["works"])
        self.assertIn("has 64.00 MiB", checks["/dev/shm"]["text"])

    def test_workers_of_a_forkserver(self):
        """Its socket needs a directory that can be written, so without one there are no workers to trace."""
        checks, _, _ = self.doctor(TMPDIR=self.volume)
        self.assertTrue(checks["workers"]["works"], checks["workers"])
        checks, rest, errors = self.doctor(f"{PYTHON} -c {shlex.quote(WORKERS)}")
        self.assertFalse(checks["workers"]["works"], checks["workers"])
        self.assertIn("forkserver: no worker started here", checks["workers"]["text"])
        self.assertIn("No usable temporary directory", errors)
        out = os.path.join(self.volume, "traces")
        done = self.inside(f"{self.run_line(WORKERS, '-o', out)} && {harness.COMMAND} report {out} --format json --compact",
                           TMPDIR=self.volume)
        self.assertTrue(done.stdout.startswith("True\n"), done.stderr)
        self.assertIn("child", {process["kind"] for process in json.loads(done.stdout[5:])["processes"]})


if __name__ == "__main__":
    unittest.main()
