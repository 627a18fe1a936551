"""Purpose: tests which files count as skipped, and that each skipped case has a line with its reason."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = os.path.join(os.path.dirname(HERE), "run.py")
LIST = os.path.join(os.path.dirname(os.path.dirname(HERE)), "skipped_cases.py")
BEGIN = "import unittest\nclass Some(unittest.TestCase):\n"
END = "\nif __name__ == '__main__':\n    unittest.main()\n"
PASSES = "    def test_passes(self): pass\n"
SKIPS = "    def test_skips(self): self.skipTest('no\\n  device')\n"
FAILS = "    def test_fails(self): self.fail()\n"
PART = ("    def test_parts(self):\n"
        "        for part in (1, 2):\n"
        "            with self.subTest(part):\n"
        "                if part == 2: self.skipTest('no second')\n")
CLASS = ("    @classmethod\n"
         "    def setUpClass(cls): raise unittest.SkipTest('no kernel')\n")


class Files(unittest.TestCase):
    def outcome(self, *body):
        """Returns the status of a file with these cases, and its lines of skipped cases."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "test_file")
            with open(path + ".py", "w", encoding="ascii") as file:
                file.write(BEGIN + "".join(body) + END)
            done = subprocess.run([sys.executable, RUN, path, "-v"], capture_output=True, check=False, timeout=60)
        return done.returncode, [line for line in done.stdout.decode().splitlines() if line.startswith("skipped: ")]

    def test_no_case_is_skipped(self):
        self.assertEqual(self.outcome(PASSES), (0, []))

    def test_one_of_two_cases(self):
        self.assertEqual(self.outcome(PASSES, SKIPS), (0, ["skipped: Some.test_skips: no device"]))

    def test_all_cases(self):
        self.assertEqual(self.outcome(SKIPS), (77, ["skipped: Some.test_skips: no device"]))

    def test_a_part_of_a_case(self):
        status, lines = self.outcome(PART)
        self.assertEqual((status, len(lines)), (0, 1))
        self.assertRegex(lines[0], r"^skipped: Some\.test_parts \[2\]: no second$")

    def test_each_case_of_a_class(self):
        self.assertEqual(self.outcome(CLASS, PASSES, FAILS),
                         (77, ["skipped: Some.test_fails: no kernel", "skipped: Some.test_passes: no kernel"]))

    def test_a_failure_beside_a_skipped_case(self):
        self.assertEqual(self.outcome(FAILS, SKIPS), (1, ["skipped: Some.test_skips: no device"]))


class Log(unittest.TestCase):
    def test_each_case_with_its_test(self):
        log = ("1/3 Test: end_to_end.near\nOutput:\nskipped: Near.test_one: no cgroup\nskipped: Near.test_two: no log\n"
               "2/3 Test: Files.OfAnotherUser\n/src/files_test.cpp:80: Skipped\nnot root\n\n[  SKIPPED ] Files\n"
               "3/3 Test: python.frames.3.9\nskipped: no Python 3.9 here\n")
        with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
            file.write(log)
            file.flush()
            done = subprocess.run([sys.executable, LIST, file.name], capture_output=True, check=True)
        self.assertEqual(done.stdout.decode().splitlines(), [
            "end_to_end.near: Near.test_one: no cgroup", "end_to_end.near: Near.test_two: no log",
            "Files.OfAnotherUser: not root", "python.frames.3.9: no Python 3.9 here"])


if __name__ == "__main__":
    unittest.main()
