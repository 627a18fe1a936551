"""Purpose: scripts/gpu_check where there is no GPU: its errors, its comparison, and all of it on the CUDA node.

usage: BUILD_DIR=build/dev python3 scripts/gpu_check_test.py
"""
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import gpu_check_compare

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("BUILD_DIR", os.path.join(ROOT, "build", "dev")))
CHECK = os.path.join(HERE, "gpu_check")

TRUTH = {"pid": 7, "max_memory_allocated": 1000, "max_memory_reserved": 2048, "parameters": 10,
         "phases": [{"phase": "step", "step": 0, "peak": 1000, "exit": 700}]}


def report(tensor=1000, live=2048, reserved=2048, exit_live=700, pid=7, lost=0):
    def at(measure, size):
        return {"memory": "cuda:0", "measure": measure, "bytes": size}
    row = {"memory": "cuda:0", "path": ["step"], "step": 0, "tensor": {"peak_live": tensor, "exit_live": exit_live}}
    host = {"memory": "host", "path": ["step"], "step": 0, "tensor": {"peak_live": 1, "exit_live": 1}}
    peaks = [{"memory": "host", "measure": "tensor", "bytes": 5}, at("tensor", tensor), at("live", live),
             at("reserved", reserved)]
    return {"schema": "memtrace.report/1", "processes": [
        {"pid": pid, "peaks": peaks, "phases": [host, row], "parameters": {"count": 10},
         "trace": {"lost_events": lost, "device_source": "hooks"}}]}


class Scratch(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="gpu-check-test-")
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def write(self, name, text):
        path = os.path.join(self.scratch, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def program(self, name, text):
        path = self.write(name, text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def check(self, *arguments, **environment):
        return subprocess.run([CHECK, *arguments], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=300)

    def stops(self, done, status, *said):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for text in said:
            self.assertIn(text, done.stderr)


class Comparison(unittest.TestCase):
    def wrong(self, **levels):
        return {check: text for check, _, _, ok, text in gpu_check_compare.compare(report(**levels), TRUTH, TRUTH)
                if not ok}

    def test_equal(self):
        self.assertEqual(self.wrong(), {})

    def test_one_byte(self):
        self.assertEqual(self.wrong(exit_live=701), {"step 0: tensor at exit": "DIFFERS by +1"})
        self.assertEqual(self.wrong(live=2047), {"peak live of the allocator = max_memory_reserved": "DIFFERS by -1"})
        self.assertEqual(len(self.wrong(tensor=999)), 2)

    def test_lost_events(self):
        self.assertEqual(self.wrong(lost=3), {"events lost": "DIFFERS by +3"})

    def test_nothing_of_the_device(self):
        empty = report()
        empty["processes"][0]["peaks"] = []
        empty["processes"][0]["phases"] = []
        texts = [text for _, _, _, ok, text in gpu_check_compare.compare(empty, TRUTH) if not ok]
        self.assertEqual(texts, ["DIFFERS: not in the report"] * 5)

    def test_another_process(self):
        with self.assertRaisesRegex(gpu_check_compare.Unreadable, "no process 7.*it has: 8"):
            gpu_check_compare.compare(report(pid=8), TRUTH)


class Files(Scratch):
    def test_compare_only(self):
        truth = self.write("truth", "step 0: loss 1\n" + json.dumps(TRUTH) + "\n")
        good = self.write("good", json.dumps(report()))
        done = self.check("--report", good, "--truth", truth, "--bare", truth)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("9 of 9 agree", done.stdout)
        bad = self.write("bad", json.dumps(report(live=0)))
        done = self.check("--report", bad, "--truth", truth)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("DIFFERS by -2,048", done.stdout)
        self.assertIn("no cudaMalloc was seen", done.stdout)

    def test_unreadable(self):
        truth = self.write("truth", json.dumps(TRUTH))
        good = self.write("good", json.dumps(report()))
        self.stops(self.check("--report", "/no/such", "--truth", truth), 2, "/no/such: No such file")
        self.stops(self.check("--report", truth, "--truth", truth), 2, "memtrace.report/1")
        self.stops(self.check("--report", self.write("cut", "{"), "--truth", truth), 2, "not JSON")
        self.stops(self.check("--report", good, "--truth", self.write("none", "loss\n")), 2, "no line of JSON")
        self.stops(self.check("--report", good), 2, "--truth")


class Usage(Scratch):
    def prefix(self):
        self.program("prefix/bin/memtrace", "#!/bin/sh\nexit 0\n")
        self.write("prefix/lib/libmemtrace.so", "")
        return os.path.join(self.scratch, "prefix")

    def test_arguments(self):
        self.stops(self.check(), 2, "no install tree is named", "cmake --install")
        self.stops(self.check("--frobnicate"), 2, "'--frobnicate'")
        self.stops(self.check("a", "b"), 2, "'a' and 'b'")
        self.stops(self.check("a", "--out"), 2, "--out lacks its value")
        self.stops(self.check(self.scratch), 2, "lacks bin/memtrace")
        self.stops(self.check(self.prefix(), "--python", "/no/python"), 2, "/no/python")
        self.stops(self.check(self.prefix(), "--train", "/no/train.py"), 2, "/no/train.py")

    def test_help_is_whole(self):
        done = self.check("--help")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("usage:"), done.stdout)
        self.assertIn("Exit 0", done.stdout)

    def test_no_torch(self):
        self.write("torch.py", "raise ImportError('planted')")
        self.stops(self.check(self.prefix(), PYTHONPATH=self.scratch), 2, "no PyTorch: planted", "--python")

    def test_no_gpu(self):
        self.write("torch.py", """
class cuda: is_available = staticmethod(lambda: False)
class version: cuda = None
__version__ = "0+cpu"
""")
        self.stops(self.check(self.prefix(), PYTHONPATH=self.scratch), 2, "no GPU that PyTorch can use",
                   "built without CUDA")


class WithDevice(Scratch):
    def setUp(self):
        super().setUp()
        built = {"prefix/bin/memtrace": "analyzer/memtrace", "prefix/lib/libmemtrace.so": "preload/libmemtrace.so"}
        for path, source in built.items():
            source = os.path.join(BUILD, source)
            if not os.path.exists(source):
                self.skipTest(f"{source} is not built")
            os.makedirs(os.path.dirname(os.path.join(self.scratch, path)), exist_ok=True)
            os.symlink(source, os.path.join(self.scratch, path))
        self.prefix = os.path.join(self.scratch, "prefix")

    def test_all_of_it(self):
        """On the CUDA node (docs/cuda-node.md)."""
        node = os.path.join(BUILD, "tests", "cuda_node", "run")
        if not os.path.exists(node) or subprocess.run([node, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("there is no CUDA node here: docs/cuda-node.md")
        out = os.path.join(self.scratch, "out")
        done = subprocess.run([node, CHECK, self.prefix, "--python", "python", "--out", out,
                               "--train", os.path.join(HERE, "gpu_check_train.py")],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("agree, to the byte", done.stdout)
        self.assertIn("seen by hooks", done.stdout)

    def test_a_run_that_fails(self):
        train = self.write("train.py", "raise SystemExit('planted')")
        # Answers that there is a GPU.
        python = self.program("python", f"""#!/bin/sh
[ "$1" = - ] && exit 0
exec '{sys.executable}' "$@"
""")
        done = self.check(self.prefix, "--python", python, "--train", train)
        self.stops(done, 1, "planted", "failed by itself")
        shutil.rmtree(done.stderr.rsplit(" ", 1)[1].strip(), ignore_errors=True)


if __name__ == "__main__":
    unittest.main()
