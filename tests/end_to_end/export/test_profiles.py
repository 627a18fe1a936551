"""Purpose: tests `memtrace tree` and the exports for profile viewers with the tools that read them. Each total is the
peak of `memtrace report --format json`, byte for byte."""
import json
import os
import pty
import re
import shutil
import subprocess
import unittest

import exports
from harness import COMMAND, bare_environment


class Profiles(exports.ExportCase):
    def folded_sum(self, path):
        total = 0
        with open(path, encoding="utf-8") as file:
            for line in file:
                stack, _, size = line.rstrip("\n").rpartition(" ")
                self.assertTrue(stack and all(stack.split(";")), line)
                total += int(size)
        return total

    def check_speedscope(self, path, memory, expected):
        """Checks the file against the rules of speedscope's schema for sampled profiles."""
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        self.assertEqual(content["$schema"], "https://www.speedscope.app/file-format-schema.json")
        frames = content["shared"]["frames"]
        for frame in frames:
            self.assertIsInstance(frame["name"], str)
            self.assertLessEqual(set(frame), {"name", "file", "line", "col"})
            self.assertIsInstance(frame.get("line", 1), int)
        for profile in content["profiles"]:
            self.assertEqual(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
            self.assertEqual((profile["type"], profile["unit"]), ("sampled", "bytes"))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertTrue(all(0 <= one < len(frames) for stack in profile["samples"] for one in stack))
            self.assertEqual(profile["endValue"], sum(profile["weights"]))
        shown = content["profiles"][content["activeProfileIndex"]]
        self.assertTrue(shown["name"].startswith(memory + ","), shown["name"])
        self.assertEqual(shown["endValue"], expected)

    def pprof_total(self, path):
        go = shutil.which("go")
        if go is None:
            self.skipTest("no go: scripts/setup installs golang-go")
        done = subprocess.run([go, "tool", "pprof", "-top", "-sample_index=inuse_space", "-unit=B", path],
                              env=bare_environment(HOME=self.scratch), capture_output=True, text=True, check=True, timeout=120)
        self.assertNotIn("<unknown>", done.stdout)  # what pprof makes of <module>, if it takes it for a template
        return int(re.search(r" of (\d+)B total", done.stdout).group(1))

    def test_totals_equal_the_report(self):
        for name, path in self.kinds():
            with self.subTest(name):
                memory, measure, expected = exports.leading_peak(self.report(path=path)["processes"][0])
                self.assertGreater(expected, 1 << 20)
                self.assertEqual(self.folded_sum(self.export("folded", of=path)), expected)
                self.check_speedscope(self.export("speedscope", of=path), memory, expected)
                self.assertEqual(self.pprof_total(self.export("pprof", of=path)), expected)
                tree = json.loads(self.command("tree", path, "--format", "json"))
                self.assertEqual((tree["memory"], tree["measure"], tree["total"]), (memory, measure, expected))
                self.assertEqual(sum(node["self_bytes"] for node in tree["nodes"]), expected)

    def test_tree_names_the_lines_of_a_training(self):
        self.trace_training()
        text = self.command("tree", self.out).decode()
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()), text)
        self.assertNotIn("\x1b", text)
        for line in (3, 6, 7): # the model, the forward and backward calls, the optimizer
            self.assertIn(f"train.py:{line}", text)
        self.assertRegex(text, r"torch\.(zeros_like|linear)")
        # Each state of AdamW has 4 x 4 MiB and the biases.
        states = re.findall(r" (\d+\.\d+) +\d+\.\d +8 +\+ torch\.zeros_like  torch/optim/adam\.py:\d+\n", text)
        self.assertEqual(states, ["16.03", "16.03"], text)
        top = self.command("tree", self.out, "--bottom-up").decode()
        self.assertRegex(top, r"\+ torch\.zeros_like\n")

    def test_tree_of_a_finding(self):
        self.trace_training()
        process = self.report()["processes"][0]
        finding = next(one for one in process["findings"] if one["id"] == "foreach-temporaries")
        tree = json.loads(self.command("tree", self.out, "--finding", finding["id"], "--format", "json"))
        self.assertEqual(tree["total"], finding["bytes_at_peak"])
        refusal = self.command("tree", self.out, "--finding", "no-such", status=2)
        self.assertRegex(refusal, r"\Amemtrace: --finding no-such: [^\n]*foreach-temporaries[^\n]*\n\Z")

    def test_refusals_are_one_line(self):
        self.trace_c()
        refusal = self.command("export", self.out, "--to", "csv", status=2)
        self.assertRegex(refusal, r"\Amemtrace: [^\n]*csv not in[^\n]*\n\Z")
        trace = self.trace_files()[0]
        refusal = self.command("export", self.out, "--to", "folded", "-o", trace, status=2)
        self.assertRegex(refusal, r"\Amemtrace: [^\n]*does not replace[^\n]*\n\Z")
        terminal, screen = pty.openpty()
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.close, screen)
        done = subprocess.run([COMMAND, "export", self.out, "--to", "pprof"], env=bare_environment(), stdout=screen,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), r"\Amemtrace: --to pprof: is binary[^\n]*-o FILE\n\Z")

    def test_stdout_is_the_default(self):
        self.trace_c()
        with open(self.export("folded"), "rb") as file:
            self.assertEqual(self.command("export", self.out, "--to", "folded"), file.read())
        with open(self.export("pprof"), "rb") as file:
            self.assertEqual(self.command("export", self.out, "--to", "pprof"), file.read())


if __name__ == "__main__":
    unittest.main()
