"""Purpose: tests that NVTX ranges become phases by libmemtrace_cupti.so, and that programs see no difference.

Each range of tests/fakes/use_nvtx.c allocates 1 MiB, which stays alive. So the flows of its row show where
it began and ended.
"""
import json
import os
import subprocess
import sys
import unittest

import harness

MIB = harness.MIB
VICTIM = os.path.join(harness.FAKES, "use_nvtx")
INJECTED = os.path.join(os.path.dirname(harness.LIBRARY), "libmemtrace_cupti.so")
ON = {**harness.RECORD_ALL, "MEMTRACE_CUPTI": "on"}


class Nvtx(harness.Case):
    def setUp(self):
        super().setUp()
        for path in (INJECTED, VICTIM):
            if not os.path.exists(path):
                self.skipTest(f"{path} is not built: there were no headers of CUPTI or NVTX (scripts/setup gets them)")

    def rows(self, **more):
        bare = self.bare([VICTIM])
        self.assertEqual(bare.returncode, 0, bare.stderr)
        done, report = self.trace([VICTIM], {**ON, **more})
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        return {tuple(row["path"]): row["allocated"] // MIB for row in process["phases"] if row["memory"] == "host"}

    def test_ranges_are_phases(self):
        rows = self.rows()
        expected = {("ascii",): 2, ("ascii", "brücke"): 1, ("ascii", "attributes"): 1, ("outside",): 1,
                    ("started",): 1, ("ended elsewhere",): 1, ("after",): 1}
        self.assertEqual({path: rows.get(path) for path in expected}, expected)
        self.assertNotIn("registered", {path[-1] for path in rows}, "its domain is not the default one")

    def test_domains_that_the_user_names(self):
        rows = self.rows(MEMTRACE_NVTX_DOMAINS="another,DeepSpeed")
        self.assertEqual(rows.get(("outside", "registered")), 1)
        self.assertEqual(rows.get(("started",)), 1)

    def test_names_and_depth_are_bounded(self):
        rows = self.rows()
        names = {path[-1] for path in rows}
        self.assertIn("op 0", names)
        self.assertNotIn("op 4999", names)
        self.assertLessEqual(max(map(len, rows)), 64)

    def test_phases_off(self):
        self.assertEqual(set(self.rows(MEMTRACE_PHASES="off")), {("other",)})

    def test_another_tool_keeps_its_place(self):
        rows = self.rows(NVTX_INJECTION64_PATH="/no/such/tool.so")
        self.assertEqual(set(rows), {("other",)})

    def test_no_injection_where_there_is_no_driver(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a driver")
        code = "import json, os; print(json.dumps(sorted(k for k in os.environ if 'INJECTION' in k)))"
        for value, expected in (("auto", []), ("on", ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"])):
            done = self.run_in("traced", [sys.executable, "-c", code],
                               self.environment(**{**harness.RECORD_ALL, "MEMTRACE_CUPTI": value}))
            self.assertEqual(json.loads(done.stdout), expected)

    def test_the_drivers_injection_is_left_to_profilers(self):
        """Nsight Compute stops with an error if CUDA_INJECTION64_PATH is set."""
        code = "import json, os; print(json.dumps(sorted(k for k in os.environ if 'INJECTION' in k)))"
        runtime = os.path.join(harness.FAKES, "libcudart.so.13")
        environment = self.environment(**harness.RECORD_ALL, LD_LIBRARY_PATH=harness.FAKES)
        done = self.run_in("traced", [sys.executable, "-c", code],
                           {**environment, "LD_PRELOAD": f"{harness.LIBRARY}:{runtime}"})
        self.assertEqual(json.loads(done.stdout), ["NVTX_INJECTION64_PATH"])

    def test_a_process_without_the_preload_is_left_alone(self):
        environment = harness.bare_environment(NVTX_INJECTION64_PATH=INJECTED, CUDA_INJECTION64_PATH=INJECTED)
        bare = self.bare([VICTIM])
        done = subprocess.run([VICTIM], env=environment, capture_output=True, check=False, timeout=60)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))


if __name__ == "__main__":
    unittest.main()
