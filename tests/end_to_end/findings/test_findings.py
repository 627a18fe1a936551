"""Purpose: tests that the cause of a training peak is found with its size and remedy, and that the nearest run
without it has no finding.

The predicted saving of a remedy is compared with a run that applied it.
"""
import re
import unittest

import harness

MIB = harness.MIB


class Findings(harness.Case):
    def run_program(self, name, *words):
        """Returns the process, and its findings by id. Each occurs once, and has the keys that a reader needs.
        """
        self.new_scratch()
        done, report = self.trace([harness.torch_python(), harness.program(name), *words],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        found = {finding["id"]: finding for finding in process["findings"]}
        self.assertEqual(len(found), len(process["findings"]), process["findings"])
        for finding in found.values():
            for part in ("title", "remedy", "no_remedy", "evidence", "site", "phase"):
                self.assertTrue(finding[part], (part, finding))
            text = " ".join(self.report_text().split())
            self.assertIn(finding["title"], text)
            self.assertIn(f"Fix {finding['remedy']} No help {finding['no_remedy']}", text)
        return process, found

    def only(self, identifier, found):
        self.assertEqual(list(found), [identifier])
        return found[identifier]

    def assert_line(self, finding, program, line):
        with open(harness.program(program), encoding="utf-8") as file:
            number = next(number for number, text in enumerate(file, 1) if line in text)
        frames = [f"{frame['file']}:{frame['line']}" for frame in finding["site"]["frames"]]
        self.assertIn(f"{harness.program(program)}:{number}", frames)

    def figure(self, finding, pattern):
        return int(re.search(pattern, "\n".join(finding["evidence"]))[1])


class Together(Findings):
    def test_five_causes(self):
        """One replay measures all of them."""
        done, report = self.trace([harness.torch_python(), harness.program("five_causes.py")],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        found = sorted(finding["id"] for finding in self.only_process(report)["findings"])
        self.assertEqual(found, 3 * ["first-step-only"] + ["loss-logits", "serialize-in-memory"])


class FirstStep(Findings):
    """A copy of 64 MiB of parameters."""

    def test_a_copy_that_goes(self):
        process, found = self.run_program("snapshot.py", "first")
        finding = self.only("first-step-only", found)
        self.assertEqual((finding["bytes"], finding["step"], finding["confidence"]), (64 * MIB, 0, "certain"))
        self.assert_line(finding, "snapshot.py", "copy.deepcopy(model.state_dict())\n")
        # The copy is not at the process's peak: without it, the other steps have the peak.
        steady = max(row["tensor"]["peak_live"] for row in process["phases"] if row["step"] == "steady")
        self.assertAlmostEqual(self.figure(finding, r"would be (\d+) bytes"), steady, delta=MIB)
        self.assertAlmostEqual(steady, harness.peak(process, measure="tensor") - 64 * MIB, delta=MIB)
        self.assertNotIn("No finding", self.report_text())

    def test_a_copy_that_stays(self):
        _, found = self.run_program("snapshot.py", "kept")
        finding = self.only("first-step-only", found)
        self.assertEqual((finding["bytes"], finding["step"], finding["confidence"]), (64 * MIB, 0, "likely"))
        self.assertIn("still held in step 5", finding["evidence"])

    @harness.only_in_long
    def test_a_copy_in_each_step_or_before(self):
        for how in ("every", "before"):
            with self.subTest(how):
                self.assertEqual(self.run_program("snapshot.py", how)[1], {})


class Loss(Findings):
    def test_logits(self):
        process, found = self.run_program("loss.py", "parts")
        self.assertEqual(found, {}, "a loss in parts")
        part = harness.peak(process, measure="tensor")
        for how in ("whole", "bf16"):
            with self.subTest(how):
                process, found = self.run_program("loss.py", how)
                finding = self.only("loss-logits", found)
                self.assertEqual((finding["bytes"], finding["phase"]), (3 * 64 * MIB, "backward"))
                predicted = self.figure(finding, r"would be (\d+) bytes")
                self.assertLess(predicted, harness.peak(process, measure="tensor") / 4)
                self.assertAlmostEqual(predicted, part, delta=8 * MIB)


class Recompute(Findings):
    def test_segments(self):
        """For 16 layers, two segments are too long, and four are right."""
        _, found = self.run_program("checkpointed.py", "2")
        finding = self.only("recompute-peak", found)
        self.assertEqual((finding["bytes"], finding["phase"]), (8 * 8 * MIB, "recompute"))
        half = self.figure(finding, r"the peak would be (\d+) bytes")
        inputs = self.figure(finding, r"at most (\d+) more")
        self.assertAlmostEqual(inputs, 2 * 8 * MIB, delta=64)  # and the scalars of the loss
        process, found = self.run_program("checkpointed.py", "4")
        self.assertEqual(found, {})
        truth = harness.peak(process, measure="tensor")
        self.assertTrue(half < truth <= half + inputs, (half, truth, inputs))


class Graphs(Findings):
    """Eight layers of 4 MiB; a batch makes an activation of 4 MiB in each. The run that frees gradients early and
    evaluates without a graph is the truth for both findings."""

    def test_an_evaluation_with_a_graph_and_late_gradients(self):
        process, found = self.run_program("graphs.py", "clean")
        self.assertEqual(found, {})
        truth = harness.peak(process, measure="tensor")

        process, found = self.run_program("graphs.py", "kept")
        finding = self.only("graph-kept-in-eval", found)
        self.assert_line(finding, "graphs.py", "outputs.append(model(")
        self.assertEqual(finding["confidence"], "certain")
        # Of each of five batches: the input of eight or nine layers.
        self.assertTrue(5 * 7 * 4 * MIB <= finding["bytes"] <= 5 * 9 * 4 * MIB, finding["bytes"])
        bound = self.figure(finding, r"at most (\d+) bytes")
        self.assertTrue(truth - MIB <= bound <= truth + 16 * MIB, (truth, bound))
        self.assertGreater(harness.peak(process, measure="tensor"), 2 * truth)

        process, found = self.run_program("graphs.py", "late")
        finding = self.only("gradients-kept-through-forward", found)
        self.assertAlmostEqual(finding["bytes"], 8 * 4 * MIB, delta=MIB)
        self.assertAlmostEqual(self.figure(finding, r"would be (\d+) bytes"), truth, delta=MIB)
        self.assertLess(truth, harness.peak(process, measure="tensor") * 0.9)


    @harness.only_in_long
    def test_a_validation_after_each_step(self):
        """The program counts steps 0 to 13 and validates 4 batches after each. The last of these belong to no step."""
        _, found = self.run_program("validated.py")
        finding = self.only("graph-kept-in-eval", found)
        self.assert_line(finding, "validated.py", "# TRUTH")
        self.assertRegex(finding["title"], rf"^{14 * 4} forward passes keep graphs ")
        text = self.report_text("--all")
        self.assertIn("typical: the median of steps 1 to 13 (13 of 13 agree in what each phase adds and frees)", " ".join(text.split()))
        self.assertRegex(" ".join(text.split()), r"Left of steps 0 to 13: [\d.]+ MiB\. Not in it: what came after step 13,")
        self.assertNotRegex(text, r"\bstep 14\b|\b(forward|update|loss|to) +14\b")


class Serialized(Findings):
    SIZE = 6 * 2048 * 2048 * 4

    def test_to_memory(self):
        """The copy has at least the bytes of its tensors; pickle has each tensor's bytes and the whole."""
        ways = (("buffer", "torch.save(model.state_dict(), buffer)", 1), ("pickle", "pickle.dumps", 1.8),
                ("safetensors", "safetensors.torch.save(", 2))
        for how, line, least in ways if harness.ALL else ways[:1]:
            with self.subTest(how):
                _, found = self.run_program("serialize.py", how)
                finding = self.only("serialize-in-memory", found)
                self.assertGreater(finding["bytes"], least * self.SIZE)
                self.assertLess(finding["bytes"], (least + 0.5) * self.SIZE)
                self.assert_line(finding, "serialize.py", line)

    @harness.only_in_long
    def test_to_a_file(self):
        for how in ("file", "opened"):
            with self.subTest(how):
                self.assertEqual(self.run_program("serialize.py", how)[1], {})


if __name__ == "__main__":
    unittest.main()
