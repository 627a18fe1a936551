"""Purpose: tests the files of the wheel, in the folders that pip gives them. tests/wheel/try_roots.py tests the wheel."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import harness

MARKS = ("import memtrace\n"
         "with memtrace.phase('of the wheel'):\n"
         "    kept = bytearray(48 << 20)\n"
         "print(memtrace.is_recording())\n")


class Wheel(harness.Case):
    def setUp(self):
        super().setUp()
        self.site = os.path.join(self.scratch, "site")
        self.package = os.path.join(self.site, "memtrace")
        shutil.copytree(os.path.join(harness.ROOT, "python", "memtrace"), self.package,
                        ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["cmake", "--install", harness.BUILD, "--component", "runtime", "--prefix", self.package],
                       check=True, capture_output=True)

    def python(self, *arguments, **environment):
        return self.run_in("traced", [sys.executable, *arguments], harness.bare_environment(**environment), text=True)

    def command(self, *arguments):
        return self.python("-m", "memtrace", *arguments, PYTHONPATH=self.site)

    def phases(self):
        return {phase["phase"] for phase in self.only_process(self.report())["phases"]}

    def test_runs_and_reports(self):
        done = self.command("run", "-o", self.out, "--", sys.executable, "-c", MARKS)
        self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)
        self.assertIn("of the wheel", self.phases())
        self.assertIn("of the wheel", self.command("report", self.out).stdout)

    def test_a_python_without_the_package_finds_it(self):
        done = self.python("-c", MARKS, MEMTRACE_OUT=self.out, MEMTRACE_QUIET="1",
                           LD_PRELOAD=os.path.join(self.package, "lib", "libmemtrace.so"))
        self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)
        self.assertIn("of the wheel", self.phases())

    def test_the_kernel_of_a_notebook(self):
        prefix = os.path.join(self.scratch, "prefix")
        done = self.run_in("traced", [harness.torch_python(), "-m", "memtrace", "jupyter", "install", "--prefix", prefix],
                           harness.bare_environment(PYTHONPATH=self.site + os.pathsep + harness.packages("notebook")),
                           text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(prefix, "share", "jupyter", "kernels", "memtrace", "kernel.json"), encoding="utf-8") as file:
            kernel = json.load(file)
        self.assertEqual(kernel["argv"][0], harness.torch_python())
        self.assertEqual(kernel["env"]["LD_PRELOAD"], os.path.join(self.package, "lib", "libmemtrace.so"))

    def test_the_package_of_another_project(self):
        """The program gets what it installed. The report and the command say so."""
        with open(os.path.join(self.package, "__init__.py"), "w", encoding="utf-8") as file:
            file.write("ANOTHER = 1\n")
        done = self.python("-c", "import memtrace; print(memtrace.ANOTHER); kept = bytearray(48 << 20)",
                           PYTHONPATH=self.site, MEMTRACE_OUT=self.out, MEMTRACE_QUIET="1", LD_PRELOAD=harness.LIBRARY)
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)
        text = " ".join(self.report_text().split())
        self.assertIn("the package memtrace of this program is another project's, without marks: "
                      f"{self.package}/__init__.py", text)
        done = self.command("--version")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Amemtrace: .*/__init__\.py is of another project; pip uninstall memtrace.*\n\Z")

    def test_opens_its_traces(self):
        """By the command of the wheel: there is none on PATH."""
        self.assertEqual(self.command("run", "-o", self.out, "--", sys.executable, "-c", MARKS).returncode, 0)
        code = "import memtrace, sys; print(*(phase.phase for phase in memtrace.open(sys.argv[1]).phases))"
        done = self.python("-c", code, self.out, PYTHONPATH=self.site, PATH="/nowhere")
        self.assertEqual(done.stderr, "")
        self.assertIn("of the wheel", done.stdout)

    def test_the_queries_of_a_fleet_are_in_the_wheel_and_in_an_install_tree(self):
        """The command of each names them, with the package of its own tree."""
        names = sorted(name[:-4] for name in os.listdir(os.path.join(harness.ROOT, "python", "memtrace", "fleet", "sql")))
        self.assertTrue(names)
        tree = os.path.join(self.scratch, "tree")
        subprocess.run(["cmake", "--install", harness.BUILD, "--prefix", tree], check=True, capture_output=True)
        for command in ([sys.executable, "-m", "memtrace"], [os.path.join(tree, "bin", "memtrace")]):
            done = self.run_in("traced", [*command, "fleet", "--list"],
                               harness.bare_environment(**({"PYTHONPATH": self.site} if command[1:] else {})), text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], names)

    def test_the_entry_points_are_in_the_package(self):
        """scripts/release makes the wheel from this file."""
        with open(os.path.join(harness.ROOT, "pyproject.toml"), encoding="utf-8") as file:
            text = file.read()
        found = re.findall(r'^memtrace = "(memtrace[\w.]*)(?::\w+)?"$', text, re.M)
        self.assertEqual(found, ["memtrace.__main__", "memtrace.pytest_plugin"])
        for module in found:
            path = os.path.join(self.site, *module.split("."))
            self.assertTrue(os.path.isfile(path + ".py") or os.path.isfile(os.path.join(path, "__init__.py")), module)

    def test_types(self):
        """What a user's own checker says about a program that uses the package."""
        mypy = harness.existing(os.path.join(harness.CACHE, "lint", "bin", "mypy"), "run scripts/setup")
        program = os.path.join(self.scratch, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import memtrace\n"
                       "@memtrace.phase('load')\n"
                       "def load(size: int) -> bytes: return bytes(size)\n"
                       "trace = memtrace.open('x')\n"
                       "reveal_type(load)\n"
                       "reveal_type(trace.peak().at_peak[0].site)\n"
                       "memtrace.step('one')\n")
        venv = os.path.join(self.scratch, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        site, = glob.glob(os.path.join(venv, "lib", "python3*", "site-packages"))
        shutil.copytree(self.package, os.path.join(site, "memtrace"))
        done = self.run_in("traced", [mypy, "--strict", "--no-incremental", "--python-executable",
                                      os.path.join(venv, "bin", "python"), program], harness.bare_environment(), text=True)
        self.assertEqual([line.partition("program.py:")[2] for line in done.stdout.splitlines()[:-1]], [
            '5: note: Revealed type is "def (size: int) -> bytes"',
            '6: note: Revealed type is "memtrace.model.Site | None"',
            '7: error: Argument 1 to "step" has incompatible type "str"; expected "int"  [arg-type]'])

    def test_the_command_is_missing(self):
        os.unlink(os.path.join(self.package, "bin", "memtrace"))
        done = self.command("--version")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Amemtrace: .*/bin/memtrace: No such file or directory; pip install .*\n\Z")

    def test_one_version(self):
        with open(os.path.join(harness.ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"project\(memtrace VERSION ([0-9.]+)", file.read()).group(1)
        self.assertEqual(self.command("--version").stdout, f"memtrace {version}\n")

    def test_the_notices_name_each_library(self):
        with open(os.path.join(self.package, "share", "doc", "memtrace", "NOTICES"), encoding="utf-8") as file:
            text = file.read()
        for library in ("elfutils", "glibc", "gcc-", "zlib", "xz-utils", "bzip2", "libzstd", "libiberty", "fmtlib", "spdlog",
                        "cli11", "nlohmann-json3", "protozero", "sqlite3", "ncurses", "The text of LGPL-3", "The text of GPL-3"):
            self.assertIn(f"\n{library}", text)

    def test_the_command_needs_no_library(self):
        headers = subprocess.run(["readelf", "-lW", os.path.join(self.package, "bin", "memtrace")], check=True,
                                 capture_output=True, text=True).stdout
        self.assertNotIn("INTERP", headers)


if __name__ == "__main__":
    unittest.main()
