"""Purpose: `pytest --memtrace`: a test over its budget fails with its line; all other results are those of pytest."""
import os
import re
import shutil
import subprocess
import textwrap
import unittest
import xml.etree.ElementTree as tree

import cuda_node
import harness

PROGRAM = harness.program("budgeted_tests.py")
OVER = {name: number for number, line in enumerate(open(PROGRAM, encoding="utf-8"), 1)
        for name in re.findall(r"# OVER (\S+)", line)}


def parts_of(case):
    """Returns what JUnit says of a test case, without its time and without addresses of objects."""
    return [(part.tag, part.attrib, re.sub("0x[0-9a-f]+", "0x", part.text or ""))
            for part in case.iter() if part.tag != "testcase"]


def outcome_of(case):
    return [part.tag for part in case if part.tag in ("failure", "skipped", "error")]


class Plugin(harness.Case):
    def pytest(self, *options, status, env=None, path=None, node=()):
        """Returns the output of pytest, and the test cases of its JUnit report by name."""
        junit = os.path.join(self.scratch, "junit.xml")
        tests = os.path.join(self.scratch, "tests")
        os.makedirs(tests, exist_ok=True)
        shutil.copy(PROGRAM, os.path.join(tests, "test_budgeted.py"))
        with open(os.path.join(tests, "test_later.py"), "w", encoding="utf-8") as file:
            file.write("def test_later(): pass\n")
        environment = harness.bare_environment(
            PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
            PYTHONPATH=os.pathsep.join([harness.packages("pytest"), os.path.join(harness.ROOT, "python")]),
            PATH=path or os.pathsep.join([os.path.dirname(harness.COMMAND), os.environ["PATH"]]),
            PYTEST_DEBUG_TEMPROOT=self.scratch, **(env or {}))
        done = subprocess.run(
            [*node, harness.torch_python(), "-m", "pytest", "-p", "memtrace.pytest_plugin", "-p", "no:cacheprovider",
             "--strict-markers", "-o", "junit_logging=all", "--junitxml", junit, *options], cwd=tests, env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout)
        if not os.path.exists(junit):
            return done.stdout, {}
        cases = tree.parse(junit).getroot().iter("testcase")
        return done.stdout, {case.get("name"): case for case in cases}

    def write(self, name, program):
        os.makedirs(os.path.join(self.scratch, "tests"))
        with open(os.path.join(self.scratch, "tests", name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(program))

    def assert_over(self, case, figure, file="test_budgeted.py"):
        failure = case.find("failure")
        self.assertIsNotNone(failure, case.get("name"))
        self.assertRegex(failure.get("message"), figure)
        name = case.get("name")
        # The line that holds the most is the first one.
        self.assertRegex(failure.text, rf"BROKEN  {figure}.* too much\n"
                                       rf" +\S*{file}:{OVER[name]} \w+, (100|90)\.0\d MiB\n")

    def test_results(self):
        text, here = self.pytest("-rA", status=1)
        self.assertIn("1 failed", text)
        self.assertNotIn("PytestUnknownMarkWarning", text)
        text, traced = self.pytest("-rA", "--memtrace", status=1)
        over = {"test_over": r"peak\(host, live\) <= 80.00 MiB: 1\d\d\.\d\d MiB in test",
                "test_sizes[90]": r"phase\(test, host, live\) <= 80.00 MiB: 1\d\d\.\d\d MiB",
                "test_of_fixture": r"phase\(setup, host, live\) <= 80.00 MiB: 1\d\d\.\d\d MiB"}
        self.assertEqual(list(here), list(traced))
        for name, case in traced.items():
            if name in over:
                self.assertEqual(outcome_of(here[name]), []) # it passes without --memtrace
                self.assert_over(case, over[name])
                continue
            # All else is as pytest reports it in place: outcome, message, traceback and properties.
            self.assertEqual(parts_of(here[name]), parts_of(case))
        self.assertRegex(text, r"Captured stdout call -+\nprinted by the test\n")
        self.assertRegex(text, r"Captured stdout call -+\nto stdout\n-+ Captured stderr call -+\nto stderr\n")
        self.assertRegex(text, r"test_budgeted.py:\d+: UserWarning: an odd value")
        # The fixture of test_unmarked lives here, and ends with the last test of its module, which is a traced one.
        self.assertIn("the shared fixture ends", traced["test_error"].find("system-out").text)
        self.assertEqual([name for name in os.listdir(self.scratch) if name.startswith("memtrace-pytest-")], [])

    def test_with_workers(self):
        kept = os.path.join(self.scratch, "kept")
        text, cases = self.pytest("-p", "xdist.plugin", "-n", "2", "--dist", "loadgroup", "--memtrace", "--memtrace-out", kept, "-k",
                                  "sizes or killed or expected_budget or misspelt or unmarked", status=1,
                                  env={"WITH_KILLED": "1"})
        self.assertEqual({name: outcome_of(case) for name, case in cases.items()},
                         {"test_sizes[1]": [], "test_sizes[90]": ["failure"], "test_killed": ["failure"],
                          "test_expected_budget": ["skipped"], "test_misspelt": ["failure"], "test_unmarked": []})
        self.assert_over(cases["test_sizes[90]"], r"phase\(test, host, live\) <= 80.00 MiB: 1\d\d\.\d\d MiB")
        killed = cases["test_killed"].find("failure")
        self.assertIn("killed by signal 9 (SIGKILL) in call", killed.get("message"))
        self.assertRegex(text, rf"memtrace postmortem -+\n(.*\n)*.* 60\.0\d .*test_budgeted.py:{OVER['test_killed']}\n")
        self.assertIn("not in this trace; it has setup; teardown; test", cases["test_misspelt"].find("failure").text)
        # Each trace can be read afterwards, by another command.
        self.assertEqual(len(os.listdir(kept)), 5)
        self.assertIn(f"test_budgeted.py:{OVER['test_sizes[90]']}",
                      self.report_text(path=os.path.join(kept, "test_budgeted.py-test_sizes[90]")))

    @harness.only_in_long
    def test_tensors(self):
        # 0.5 MiB of queries, and four times 2048 x 2048 numbers of 4 bytes: the result of tanh lives until it is doubled.
        program = """
            import pytest, torch
            @pytest.mark.parametrize("mib", [pytest.param(n, marks=pytest.mark.memtrace(
                f"phase(test, host, tensor) <= {n}M")) for n in (64, 65)])
            def test_scores(mib):
                queries = torch.ones(2048, 64)
                scores = queries @ queries.T
                probabilities = torch.softmax(scores, dim=-1)
                assert len([scores, probabilities, torch.tanh(probabilities) * 2]) == 3
        """
        self.write("test_torch.py", program)
        _, cases = self.pytest("--memtrace", "test_torch.py", status=1)
        self.assertEqual(outcome_of(cases["test_scores[65]"]), [])
        failure = cases["test_scores[64]"].find("failure")
        self.assertIn("64.50 MiB in test", failure.text)
        self.assertRegex(failure.text, r"too much\n +\S*test_torch.py:9 test_scores, 32.00 MiB")

    @harness.only_in_long
    def test_device_memory(self):
        cuda_node.require()
        self.write("test_gpu.py", """
            import pytest, torch
            @pytest.mark.memtrace("phase(test, cuda:0, tensor) <= 24M")
            def test_scores():
                queries = torch.ones(2048, 64, device="cuda")
                scores = queries @ queries.T # cuBLAS asks PyTorch for its workspace
                assert torch.softmax(scores, dim=-1).shape == (2048, 2048)
                print(f"{torch.cuda.max_memory_allocated() / 2**20:.2f} MiB in test")
        """)
        _, cases = self.pytest("--memtrace", "test_gpu.py", status=1, node=[cuda_node.NODE])
        failure, printed = cases["test_scores"].find("failure"), cases["test_scores"].find("system-out").text
        self.assertIn(re.search(r".* MiB in test", printed)[0], failure.text)
        self.assertRegex(failure.text, r"too much\n +\S*test_gpu.py:6 test_scores, ")

    def test_no_command(self):
        text, _ = self.pytest("--memtrace", status=4, path="/nowhere")
        self.assertRegex(text, r"ERROR: --memtrace: no command memtrace in .* or on PATH")

    def test_debugger(self):
        text, _ = self.pytest("--memtrace", "--pdb", status=4)
        self.assertIn("a debugger cannot reach the process of a traced test", text)


if __name__ == "__main__":
    unittest.main()
