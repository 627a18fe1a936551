"""Purpose: tests that mlockall locks the program's memory, as without memtrace, and none of memtrace's."""
import os
import resource
import subprocess
import unittest

import harness

CURRENT, FUTURE, ON_FAULT = 1, 2, 4
NOBODY = 65534
ENOUGH, LITTLE = 7 * 1024, 2 * 1024  # KiB: for the victim; memtrace has more than 20 MiB


class LockAll(harness.Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.scratch, 0o755)
        self.shared = os.path.join(self.scratch, "shared")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o1777)
        self.out = os.path.join(self.shared, "out")

    def both(self, *arguments, user=None):
        command = [harness.victim("lock_all"), *map(str, arguments)]
        options = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        bare, traced = (subprocess.run(command, env=environment, check=False, capture_output=True, cwd="/", **options)
                        for environment in (harness.bare_environment(), self.environment(**harness.RECORD_ALL)))
        self.assertEqual((traced.returncode, traced.stdout, traced.stderr), (bare.returncode, bare.stdout, bare.stderr))
        self.assert_nothing_lost(self.only_process(self.report()))
        return bare.stdout.decode().splitlines()[0]

    def test_as_root_without_a_limit(self):
        if os.geteuid() != 0:
            self.skipTest("not root: the limit of this user may be anything")
        for flags in (CURRENT, FUTURE, CURRENT | FUTURE, CURRENT | ON_FAULT, CURRENT | FUTURE | ON_FAULT):
            with self.subTest(flags=flags):
                self.out = os.path.join(self.shared, f"out-{flags}")
                self.assertEqual(self.both(flags), "mlockall 0 Success")

    def test_refusals(self):
        self.assertEqual(self.both(8), "mlockall -1 Invalid argument")
        self.out += "-0"
        self.assertEqual(self.both(0), "mlockall -1 Invalid argument")

    def test_limits(self):
        if os.geteuid() != 0:
            self.skipTest("not root: no other user")
        if subprocess.run(["test", "-r", harness.LIBRARY], user=NOBODY, check=False).returncode != 0:
            self.skipTest("another user cannot read the build")
        hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
        if hard != resource.RLIM_INFINITY and hard < ENOUGH * 1024:
            self.skipTest(f"another user may lock {hard} bytes alone")
        for limit, said in ((ENOUGH, "mlockall 0 Success"), (LITTLE, "mlockall -1 Cannot allocate memory"),
                            (0, "mlockall -1 Operation not permitted")):
            with self.subTest(limit=limit):
                self.out = os.path.join(self.shared, f"limit-{limit}")
                self.assertEqual(self.both(CURRENT, limit, user=NOBODY), said)


if __name__ == "__main__":
    unittest.main()
