"""Purpose: runs the code and the commands of the pages on pytest, budgets, assistants and notebooks as they stand there.

Truth: the output that the pages show, apart from pids, paths and what an allocator adds.
"""
import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import unittest

import harness
import python_package

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
FIGURE = re.compile(r"\d+\.\d+")


def page(name):
    with open(os.path.join(harness.ROOT, "docs", name), encoding="utf-8") as file:
        return file.read()


def blocks(name):
    """Returns the blocks of code of a page, as pairs of language and text."""
    return FENCE.findall(page(name))


def commands(name):
    """Returns the indented commands of a page, without their comments."""
    return [shlex.split(line, comments=True) for line in re.findall(r"^    (\w.*)$", FENCE.sub("", page(name)), re.M)]


class Case(harness.Case):
    def assert_same(self, shown, now, python=0.0):
        """Compares what a page shows with a text. A figure may differ by 1 %, because allocators add some bytes. A level of
        all memory may also differ by `python` MiB, because each interpreter has memory of its own."""
        texts = [re.sub(r"pid \d+", "pid", re.sub(r"/\S*(?:/|\.\.\.)(?=\w+\.py)", "", text)) for text in (shown, now)]
        self.assertEqual(*([FIGURE.sub("#", line).split() for line in text.splitlines()] for text in texts))
        for line, other in zip(*(text.splitlines() for text in texts)):
            more = python if re.search(r"(peak|phase)\(", line) else 0.0
            for one, two in zip(*map(FIGURE.findall, (line, other))):
                self.assertAlmostEqual(float(one), float(two), delta=max(0.01 * float(one), 0.01) + more, msg=now)


class Pytest(Case):
    def pytest(self, name, code):
        with open(os.path.join(self.scratch, name), "w", encoding="utf-8") as file:
            file.write(code)
        done = subprocess.run(
            [harness.torch_python(), "-m", "pytest", "-p", "memtrace.pytest_plugin", "-p", "no:cacheprovider", "--memtrace", name],
            env=python_package.environment(harness.packages("pytest"), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", OMP_NUM_THREADS="1",
                                           PYTEST_DEBUG_TEMPROOT=self.scratch),
            cwd=self.scratch, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def check(self, test, name):
        (code,) = [text for language, text in blocks("pytest.md") if language == "python" and f"def {test}(" in text]
        (shown,) = [text for language, text in blocks("pytest.md") if language == "" and f" {test} " in text.splitlines()[0]]
        said = self.pytest(name, code)
        self.assertIn(shown.splitlines()[0] + "\n", said)
        self.assert_same(shown, said[said.index(shown.splitlines()[0]):].partition("\n=====")[0])

    def test_the_test_for_leaks(self):
        self.check("test_answer_keeps_nothing", "test_cache.py")

    @harness.only_in_long  # it imports PyTorch twice
    def test_the_first_example(self):
        self.assertIn("Save this as `test_attention.py`:", page("pytest.md"))
        self.check("test_attention", "test_attention.py")


class Budgets(Case):
    def run_command(self, words, program, status=0):
        """Runs a command of a page, whose train.py is growing_log.py with this argument."""
        os.makedirs(os.path.join(self.scratch, "job"), exist_ok=True)
        words = [harness.COMMAND if word == "memtrace" else sys.executable if word == "python" else word for word in words]
        words = [part for word in words for part in ([harness.program("growing_log.py"), program] if word == "train.py" else [word])]
        done = subprocess.run(words, cwd=os.path.join(self.scratch, "job"), stdin=subprocess.DEVNULL, text=True,
                              env=python_package.environment(MEMTRACE_QUIET="1"), capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done.stdout

    def test_the_commands_and_the_output(self):
        found = commands("budgets.md")
        self.assertEqual([words[1] for words in found], ["run", "check", "report", "check"])
        for words in found:  # a program that keeps nothing
            self.run_command(words, "0")
        self.run_command(found[0], "1")
        (shown,) = [text for language, text in blocks("budgets.md") if language == ""]
        budgets = re.findall(r"^(?:BROKEN|kept) +(.* <= [\d.]+) MiB:", shown, re.M)
        self.assertEqual(len(budgets), 3)
        options = [part for budget in budgets for part in ("--max", budget + "MiB")]
        self.assert_same(shown, self.run_command(["memtrace", "check", *options], "", status=1), python=4.0)

    def test_the_steps_that_a_leak_needs(self):
        (number,) = set(re.findall(r"(\d+) steps(?: \(the|\]\()", page("pytest.md") + page("budgets.md") + page("mcp.md")))
        with open(harness.program("growing_log.py"), encoding="utf-8") as file:
            program = file.read()
        for steps, unit in ((int(number) - 1, "event"), (int(number), "step")):
            code = program.replace("range(30)", f"range({steps})")
            self.run_command(["memtrace", "run", "--", "python", "-c", code, "1"], "")
            self.assertIn(f"MiB each {unit}", self.run_command(["memtrace", "check", "--max", "leak() <= 0"], "", status=1))


class Assistants(harness.Case):
    def setUp(self):
        super().setUp()
        self.packages = harness.packages("mcp")
        sys.path.insert(0, self.packages)
        self.addCleanup(sys.path.remove, self.packages)

    def test_the_configurations_start_the_server(self):
        """Each block of JSON, with a client's own rules: the command on PATH, and its folder of the workspace."""
        python = harness.torch_python()
        path = os.path.join(self.scratch, "bin")
        os.makedirs(os.path.join(self.scratch, "memtrace-out"))
        os.mkdir(path)
        with open(os.path.join(path, "python3"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{python}" "$@"\n')
        os.chmod(os.path.join(path, "python3"), 0o755)
        environment = python_package.environment(self.packages)
        environment["PATH"] = os.pathsep.join([path, environment["PATH"]])
        configurations = [json.loads(text) for language, text in blocks("mcp.md") if language == "json"]
        self.assertEqual([list(one) for one in configurations], [["mcpServers"], ["servers"]])
        tools = re.findall(r"^\| `(\w+)` \|", page("mcp.md"), re.M)
        for configuration in configurations:
            ((server,),) = (one.values() for one in configuration.values())
            words = [word.replace("${workspaceFolder}", self.scratch) for word in server["args"]]
            self.assertEqual(self.tools_of(server["command"], words, environment), sorted(tools))

    def tools_of(self, command, words, environment):
        import mcp  # of the folder that setUp added
        server = mcp.StdioServerParameters(command=command, args=words, env=environment, cwd=self.scratch)

        async def talk():
            async with mcp.Client(server) as client:
                return sorted(tool.name for tool in (await client.list_tools()).tools)

        return asyncio.run(asyncio.wait_for(talk(), 120))


class Notebooks(unittest.TestCase):
    def test_the_options_of_the_kernel(self):
        done = subprocess.run([harness.COMMAND, "jupyter", "--help"], capture_output=True, text=True, check=True)
        (table,) = re.findall(r"^\| option of `memtrace jupyter install` .*?(?=\n\n)", page("notebooks.md"), re.M | re.S)
        shown = re.findall(r"`(--?[a-z][\w-]*)", table)
        self.assertGreater(len(shown), 6)
        self.assertLessEqual(set(shown), set(re.findall(r"^    (--?[a-z][\w-]*)", done.stdout, re.M)))


if __name__ == "__main__":
    unittest.main()
