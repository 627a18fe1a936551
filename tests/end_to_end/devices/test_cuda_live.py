"""Purpose: tests `memtrace top` and an armed process on a GPU, on the CUDA node. Truth: PyTorch's own counters."""
import json
import re
import subprocess
import time
import unittest

import cuda_node
import harness

MIB = harness.MIB
BATCH = 256 * 512 * 4  # the input of a step, made before its forward


class Live(cuda_node.Case):
    def begin(self, **settings):
        """Starts the program. It trains up to the step that `to` names, and answers with PyTorch's counters."""
        command = [cuda_node.NODE, "env", "LD_PRELOAD=" + harness.LIBRARY, "python", harness.program("trains_on_gpu.py")]
        self.run_ = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     env=self.environment(MEMTRACE_QUIET="1", **settings))
        self.addCleanup(self.end)

    def to(self, step):
        self.run_.stdin.write(f"{step}\n")
        self.run_.stdin.flush()
        line = self.run_.stdout.readline()
        self.assertTrue(line, "the program ended")
        return json.loads(line)

    def end(self):
        if self.run_.poll() is None:
            self.run_.stdin.close()
            self.run_.wait(60)
        for pipe in (self.run_.stdout, self.run_.stderr):
            pipe.close()
        return self.run_.returncode

    def memtrace(self, *words, **environment):
        done = subprocess.run([harness.COMMAND, *words], capture_output=True, text=True, check=False, timeout=60,
                              stdin=subprocess.DEVNULL, env=harness.bare_environment(**environment))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_an_armed_process_begins_with_what_the_gpu_held(self):
        self.begin(MEMTRACE="armed")
        before = self.to(5)
        self.assertIn("did not answer", self.call())
        after = self.to(8)
        self.assertEqual(self.end(), 0)
        process = self.only_process(self.report())
        self.assert_nothing_lost(process)
        held = process["before_recording"]["devices"]
        self.assertEqual([one["memory"] for one in held], ["cuda:0"])
        # The call arrives at the first event of step 5.
        self.assertEqual(held[0]["tensor"], before["allocated"])
        self.assertEqual(held[0]["reserved"], before["reserved"])
        self.assertGreaterEqual(held[0]["live"], before["reserved"])
        peaks = {peak["measure"]: peak for peak in process["peaks"] if peak["memory"] == "cuda:0"}
        self.assertEqual(peaks["tensor"]["bytes"], after["peak"])
        self.assertEqual(peaks["reserved"]["bytes"], after["reserved"])
        self.assertEqual(sum(row["bytes"] for row in peaks["tensor"]["at_peak"]), after["peak"], "the rows add up")
        self.assertNotIn("segments", peaks["reserved"], "their blocks of before are not known")
        rows = [row for row in process["phases"] if row["memory"] == "cuda:0" and row["path"] == ["forward"]]
        self.assertEqual(rows[0]["tensor"]["entry_live"], before["allocated"] + BATCH)
        text = self.memtrace("report", self.out)
        self.assertRegex(" ".join(text.split()), r"Armed: .* held [0-9.]+ MiB, and [0-9.]+ MiB of cuda:0\.")
        self.assertIn("cuda:0 Fake A100", text)
        self.assertRegex(text, r"(?m)^  before recording  ")

    def call(self):
        """Calls the armed process, which waits for its stdin and answers at its next event. It looks for a call once in
        4 ms: the pause is longer, so that an event of just before the call does not delay the answer into the next step."""
        asked = subprocess.run([harness.COMMAND, "arm", "--job", self.out, "--wait", "0"], capture_output=True, text=True,
                               check=False, stdin=subprocess.DEVNULL, env=harness.bare_environment())
        time.sleep(0.05)
        return asked.stdout

    def test_top_shows_the_gpu(self):
        self.begin()
        truth = self.to(12)
        screen = self.memtrace("top", self.out, "--once", COLUMNS="100", LINES="60")
        tensors = re.search(r"cuda:0 live ([0-9.]+) MiB, tensors ([0-9.]+) MiB", screen)
        self.assertEqual([float(one) for one in tensors.groups()], [round(truth[name] / MIB, 2) for name in ("reserved", "allocated")])
        limit = re.search(r"(?m)^cuda:0 +([0-9.]+) MiB +([0-9.]+) GiB", screen)
        # The context takes most of it, and no allocation shows that.
        self.assertEqual([float(one) for one in limit.groups()], [round(truth["used"] / MIB, 2), truth["total"] / 1024**3])
        # The roles of tensors add up to the tensors.
        roles = re.findall(r"(?m)^(tensor|parameter|optimizer state|gradient|activation|temporary|workspace) +([0-9.]+) ", screen)
        self.assertAlmostEqual(sum(float(size) for _, size in roles), truth["allocated"] / MIB, delta=0.05)
        update = re.search(r"(?m)(?<= )update +([0-9.]+) ", screen)
        self.assertLessEqual(float(update[1]), round(truth["peak"] / MIB, 2))
        self.assertRegex(screen, r"(?m)^    2\.00 MiB .* 12  torch\.empty  trains_on_gpu\.py:21")


if __name__ == "__main__":
    unittest.main()
