"""Purpose: tests that data which each rank of a host loads for itself is one finding. What ranks share or need for
themselves is not a finding. Truth: the sizes by numpy and PyTorch, and the private pages of the data by the kernel."""
import json
import socket
import unittest

import harness

MIB = harness.MIB
SIZE = 96 * MIB


class RankCopies(harness.Case):
    def findings(self, how):
        """Returns the findings about several processes, and what the ranks printed."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        done, report = self.trace([harness.torch_python(), harness.program("rank_data.py"), how, str(port)],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        said = [json.loads(line) for line in done.stdout.splitlines()]
        ranks = {process["rank"]: process["pid"] for process in report["processes"] if process["kind"] == "rank"}
        self.assertEqual(ranks, {truth["rank"]: truth["pid"] for truth in said})
        self.assertEqual(len(ranks), 3)
        return report["findings"], said

    def assert_copies(self, finding, said, line):
        copies = sum(truth["data"] for truth in said) - max(truth["data"] for truth in said)
        self.assertEqual((finding["id"], finding["confidence"], finding["memory"]), ("rank-copies", "likely", "host"))
        self.assertAlmostEqual(finding["bytes"], copies, delta=MIB / 4)
        self.assertIn("rank_data.py", json.dumps(finding["site"]))
        self.assertRegex(finding["title"], line + r": 96\.\d+ MiB in each of 3 ranks, 288\.\d+ MiB together")
        text = self.report_text()
        self.assertIn("rank_data.py:", text)
        self.assertIn(f"Fix {finding['remedy']} No help {finding['no_remedy']}", " ".join(text.split()))

    def test_each_rank_reads_all(self):
        [finding], said = self.findings("each")
        # The kernel shows that no page of the data was shared.
        self.assertTrue(all(truth["private"] >= SIZE - MIB for truth in said), said)
        self.assert_copies(finding, said, "rank_data.py:44")
        self.assertIn("map", finding["remedy"])

    @harness.only_in_long
    def test_each_rank_loads_a_checkpoint(self):
        [finding], said = self.findings("state")
        self.assert_copies(finding, said, r"rank_data.py:\d+")
        self.assertIn("torch.load(file, mmap=True)", finding["remedy"])

    @harness.only_in_long
    def test_each_rank_loads_the_model_and_keeps_a_part(self):
        [finding], said = self.findings("shards")
        self.assert_copies(finding, said, r"rank_data.py:\d+")
        self.assertIn("torch.load(file, mmap=True)", finding["remedy"])
        self.assertIn("Each rank freed the model", " ".join(self.report_text().split()))

    @harness.only_in_long
    def test_each_rank_trains_with_what_it_loads(self):
        findings, said = self.findings("assign")
        self.assertEqual([truth["data"] for truth in said], [SIZE] * 3)
        self.assertEqual(findings, [])

    @harness.only_in_long
    def test_a_file_that_all_map(self):
        findings, said = self.findings("mapped")
        self.assertTrue(all(truth["private"] < SIZE / 2 for truth in said), said)
        self.assertEqual(findings, [])

    @harness.only_in_long
    def test_one_rank_alone(self):
        self.assertEqual(self.findings("first")[0], [])

    @harness.only_in_long
    def test_a_part_in_each(self):
        self.assertEqual(self.findings("parts")[0], [])

    @harness.only_in_long
    def test_data_parallel_training(self):
        """Parameters, gradients, buckets, optimizer states and batches are in each rank: these are not copies."""
        findings, said = self.findings("train")
        self.assertEqual([truth["data"] for truth in said], [SIZE] * 3)
        self.assertEqual(findings, [])


if __name__ == "__main__":
    unittest.main()
