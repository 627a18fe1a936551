"""Purpose: two ranks of PyTorch's real CUDA wheel on the CUDA node (docs/cuda-node.md). If one puts tensors on the GPU of
the other, that is one finding. Truth: PyTorch's counters of each GPU."""
import json
import os
import unittest

import cuda_node
import harness


class WrongDevice(cuda_node.Case):
    def findings(self, how):
        """Returns the findings about both ranks, those about each, and what each rank printed."""
        command = [cuda_node.NODE, "env", "LD_PRELOAD=" + harness.LIBRARY, "python", "-m", "torch.distributed.run",
                   "--standalone", "--nproc-per-node", "2", harness.program("stray.py"), how,
                   os.path.join(self.scratch, "checkpoint")]
        done, report = self.trace(command, {**harness.RECORD_ALL, "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        said = sorted(map(json.loads, done.stdout.splitlines()), key=lambda truth: truth["rank"])
        own = {finding["id"] for process in report["processes"] for finding in process["findings"]}
        return report["findings"], own, said

    def assert_stray(self, how):
        [finding], own, said = self.findings(how)
        self.assertEqual((finding["id"], finding["memory"], finding["confidence"]), ("wrong-device", "cuda:0", "certain"))
        self.assertEqual(finding["bytes"], said[1]["gpus"][0]["reserved"])
        self.assertIn(f"{said[1]['gpus'][0]['allocated']} bytes of tensors on cuda:0", finding["evidence"][0])
        self.assertIn("stray.py", json.dumps(finding["site"]))
        self.assertNotIn("device-context", own, "one cause is one finding")
        self.assertRegex(finding["title"], r"^Rank 1 holds \d+\.00 MiB on cuda:0, the GPU of rank 0, at \S+:\d+$")
        text = self.report_text()
        self.assertIn(finding["title"].split(",")[0], " ".join(text.split()))

    @harness.only_in_long
    def test_tensors_before_set_device(self):
        self.assert_stray("early")

    def test_a_checkpoint_without_map_location(self):
        self.assert_stray("load")

    @harness.only_in_long
    def test_a_checkpoint_on_the_own_gpu(self):
        findings, own, said = self.findings("own")
        self.assertEqual(said[1]["gpus"][0]["allocated"], 0)
        self.assertEqual((findings, "device-context" in own), ([], False))


if __name__ == "__main__":
    unittest.main()
