"""Purpose: runs the scripts of the pages for beginners, and tests that the reports say what the pages say.

The truth is the shape of the tensors that the scripts keep, and the peak of the changed script.
"""
import os
import re
import unittest

import harness


def script_of(page):
    with open(os.path.join(harness.ROOT, "docs", page), encoding="utf-8") as file:
        return re.search(r"```python\n(.*?)```", file.read(), re.S)[1]


class FirstPages(harness.Case):
    def traced(self, name, text):
        """Returns the only process of the report."""
        self.new_scratch()
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done, report = self.trace([harness.torch_python(), path], {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return self.only_process(report)

    @harness.only_in_long
    def test_start(self):
        script = script_of("start.md")
        [leak] = self.traced("train.py", script)["findings"]
        self.assertEqual(leak["id"], "leak-per-step")
        self.assertAlmostEqual(leak["bytes"], 2048 * 512 * 4, delta=64)  # malloc gives some bytes more
        line = script.splitlines().index("    output = model(batch)") + 1
        self.assertIn(f"train.py:{line}", leak["title"])
        mended = script.replace("outputs.append(output)", "outputs.append(output.mean().item())")
        self.assertEqual(self.traced("train.py", mended)["findings"], [])

    @harness.only_in_long
    def test_the_first_mystery(self):
        script = script_of("two-mysteries.md")
        process = self.traced("finetune.py", script)
        [finding] = process["findings"]
        self.assertEqual((finding["id"], finding["bytes"]), ("foreach-temporaries", process["parameters"]["bytes"]))
        fused = self.traced("finetune.py", script.replace("foreach=True", "fused=True"))
        before, after = (harness.peak(one, measure="tensor") for one in (process, fused))
        self.assertEqual(finding["saving"], {"measure": "tensor", "bytes": before - after})


if __name__ == "__main__":
    unittest.main()
