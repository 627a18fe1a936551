"""Purpose: tests that without CUDA, memtrace's code for it runs no instruction, opens no file, starts no thread
and prints nothing.

callgrind counts instructions, which do not depend on time. A pair must not run code for CUDA.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections import Counter

import harness

DECOY = os.path.join(harness.FAKES, "libdecoy.so")
NAMES = ("libcuda.so.1", "libcuda.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcupti.so.13",
         "libcupti.so.12", "libcupti.so", "libnvidia-ml.so.1", "libnvToolsExt.so.1")
# The files with code for CUDA.
CUDA_FILES = re.compile(r"/(?:hooks/cuda/(?!torch|dlsym)\w+|device/\w+)\.(?:cpp|h|def)$|/cupti/")
PAIRS = (1000, 3000)
# Prints, beside stdout and stderr: the threads, the mapped files, and the environment of children.
PROGRAM = """
import json, os
block = b"x" * (64 << 20)
mapped = sorted({line.split()[-1] for line in open("/proc/self/maps") if "/" in line})
print(json.dumps({"threads": len(os.listdir("/proc/self/task")), "mapped": mapped,
                  "injection": sorted(name for name in os.environ if "INJECTION" in name)}))
"""


class NoCuda(harness.Case):
    def setUp(self):
        super().setUp()
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a driver")

    def said(self, **more):
        done = self.run_in("traced", [sys.executable, "-c", PROGRAM], self.environment(MEMTRACE_QUIET="1", **more))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def costs(self, count, **more):
        """Returns the instructions in all, and of each file with code for CUDA."""
        out = os.path.join(self.scratch, "callgrind.out")
        done = self.run_in("traced", ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                                      harness.victim("pairs"), str(count)], self.environment(**more))
        self.assertEqual((done.returncode, done.stdout.decode()), (0, f"{count}\n"))
        return read_costs(out)

    def test_no_instruction_of_a_pair(self):
        if shutil.which("valgrind") is None:
            self.skipTest("valgrind is not installed")
        for mode in ("auto", "off"):
            few, many = (self.costs(count, MEMTRACE_CUPTI=mode) for count in PAIRS)
            more = {path: cost - few[path] for path, cost in many.items()}
            heap = sum(cost for path, cost in more.items() if path.endswith("hooks/libc/malloc.cpp"))
            self.assertGreater(heap, 2 * (PAIRS[1] - PAIRS[0]), "pairs are counted")
            # The cost of other files differs from run to run: blocks are sampled by chance, and addresses are
            # hashed.
            self.assertEqual({path: cost for path, cost in more.items() if cost and CUDA_FILES.search(path)}, {})

    def test_such_code_would_be_seen(self):
        """A program that uses CUDA runs such code, counted in the same way."""
        if shutil.which("valgrind") is None:
            self.skipTest("valgrind is not installed")
        out = os.path.join(self.scratch, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                   os.path.join(harness.FAKES, "opened_cuda"), "module", "cudaMalloc"]
        done = self.run_in("traced", command, self.environment(MEMTRACE_CUPTI="on", MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any("call_shapes.h" in path for path in read_costs(out) if CUDA_FILES.search(path)))

    def test_nothing_is_opened(self):
        """No library is opened, even if it is in the loader's path, as long as there is no driver."""
        folder = os.path.join(self.scratch, "decoys")
        os.makedirs(folder)
        for name in NAMES:
            os.symlink(DECOY, os.path.join(folder, name))
        opened = os.path.join(self.scratch, "opened")
        around = {"LD_LIBRARY_PATH": folder, "DECOY": opened}
        found = self.said(**around, MEMTRACE_MIN_PEAK="0")
        self.assertFalse(os.path.exists(opened))
        names = [os.path.basename(path) for path in found["mapped"]]
        self.assertEqual([name for name in names if re.match(r"lib(cu|nv|memtrace_cupti)", name)], [])
        self.assertEqual(found["injection"], [])
        subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"],
                       env=harness.bare_environment(**around), check=True)
        self.assertTrue(os.path.exists(opened), "the decoys tell")

    def test_no_thread(self):
        """There is only the recorder's own thread if it records."""
        self.assertEqual(self.said(MEMTRACE_MIN_PEAK="1G")["threads"], 1)
        recording = {mode: self.said(MEMTRACE_MIN_PEAK="0", MEMTRACE_CUPTI=mode)["threads"] for mode in ("auto", "off")}
        self.assertLessEqual(max(recording.values()), 2)


def read_costs(path):
    """{file: instructions} of a callgrind profile, calls not added."""
    names, costs, current, skip = {}, Counter(), None, False
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if found := re.match(r"(fl|fi|fe)=\((\d+)\)(?: (.*))?$", line.rstrip("\n")):
                if found[3]:
                    names[found[2]] = found[3]
                current = names[found[2]]
            elif line.startswith("calls="):
                skip = True  # the next line is the cost of the called function
            elif found := re.match(r"[+\-*\d]\S* (\d+)$", line):
                if not skip:
                    costs[current] += int(found[1])
                skip = False
            elif found := re.match(r"c?(?:fi|fl)=\((\d+)\) (.*)$", line.rstrip("\n")):
                names[found[1]] = found[2]
    return costs


if __name__ == "__main__":
    unittest.main()
