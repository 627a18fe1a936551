"""Purpose: tests the marks of the package memtrace in the traced program: labels, snapshots, what they cost."""
import os
import socket
import subprocess
import sys
import unittest

import harness
import python_package

LABELS = """
import array, memtrace, mmap
def report(*things):
    for number, thing in enumerate(things):
        memtrace.label(thing, roles[number])
roles = ("parameter", "gradient", "optimizer_state", "kv_cache", "workspace")
values = (bytearray(21 << 20), bytes(22 << 20), array.array("b", [1]) * (23 << 20), bytearray(24 << 20),
          mmap.mmap(-1, 25 << 20))
report(*values[:3], memoryview(memoryview(values[3])[1 << 20:]), values[4])
spare = bytearray(9)
memtrace.label(spare, "comm")
spare.append(1)  # an error, if the label kept its buffer
"""
# In this order, because the report tells blocks apart by these roles.
ROLES = {"parameter": 21, "gradient": 22, "optimizer_state": 23, "kv_cache": 24, "workspace": 25}

TENSORS = """
import memtrace, numpy, torch
weights = torch.zeros(21 << 18)
memtrace.label(weights[5:], "parameter")
rows = numpy.zeros(23 << 20, dtype=numpy.uint8)
memtrace.label(rows.reshape(23, -1)[3:, ::2], "input")
with torch.device("meta"):
    memtrace.label(torch.zeros(9), "buffer")
"""

DEVICE = """
import ctypes, memtrace
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
results = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
           cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(48 << 20))]
assert results == [0, 0, 0, 0], results
class Array:
    nbytes = 48 << 20
    __cuda_array_interface__ = {"data": (address.value, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}
memtrace.label(Array(), "kv_cache")
memtrace.snapshot("on the device")
"""

SNAPSHOTS = """
import memtrace
kept = bytearray(40 << 20)
memtrace.snapshot("one")
del kept
with memtrace.phase("inner"):
    other = bytearray(10 << 20)
    memtrace.snapshot("two")
last = bytearray(60 << 20)
"""

ERRORS = """
import memtrace
for thing, role in ((bytearray(9), "weights"), ([1, 2], "parameter"), (3, "parameter")):
    try:
        memtrace.label(thing, role)
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
memtrace.label(bytes(5), "parameter", "\\ud800")
memtrace.snapshot("\\ud800")
"""

IMPORTED = """
import sys
before = set(sys.modules)
import memtrace
print(sorted(set(sys.modules) - before - {"__future__"}))
print(sorted(name for name in dir(memtrace) if not name.startswith("_")))
"""


class Marks(harness.Case):
    def run_traced(self, code, python=sys.executable, **environment):
        done = self.run_in("traced", [python, "-c", code], python_package.environment(
            MEMTRACE_QUIET="1", LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=self.out, **environment), text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout, self.report()

    def roles(self, report, measure="live"):
        """Returns the MiB of each role at the peak."""
        peak, = (peak for peak in self.only_process(report)["peaks"] if (peak["memory"], peak["measure"]) == ("host", measure))
        found = {}
        for row in peak["at_peak"]:
            found[row["role"]] = found.get(row["role"], 0) + row["asked"]
        return {role: size >> 20 for role, size in found.items() if size >= harness.MIB}

    def test_labels_of_buffers(self):
        _, report = self.run_traced(LABELS)
        roles = self.roles(report)
        self.assertEqual({role: roles.get(role) for role in ROLES}, ROLES)

    def test_labels_of_tensors_and_arrays(self):
        _, report = self.run_traced(TENSORS, harness.torch_python())
        roles = self.roles(report)
        self.assertEqual((roles.get("parameter"), roles.get("input")), (21, 23))

    def test_a_label_and_a_snapshot_of_a_device(self):
        """On a CUDA driver without a GPU, of the tests."""
        harness.existing(os.path.join(harness.FAKES, "libcuda.so.1"), "it is built with the tests")
        _, report = self.run_traced(DEVICE, LD_LIBRARY_PATH=harness.FAKES, MEMTRACE_CUPTI="on")
        process = self.only_process(report)
        one, = (entry for entry in process["snapshots"] if entry["memory"] == "cuda:0")
        self.assertEqual([(row["role"], row["bytes"]) for row in one["at"]], [("kv_cache", 48 << 20)])
        self.assertEqual(one["bytes"], 48 << 20)

    def test_the_package_has_the_roles_of_the_report(self):
        sys.path.insert(0, python_package.PACKAGE)
        self.addCleanup(sys.path.remove, python_package.PACKAGE)
        from memtrace import marks

        code = "import memtrace\nkept = []\n" + "".join(
            f"kept.append(bytearray({number + 2} << 20))\nmemtrace.label(kept[-1], {role!r})\n"
            for number, role in enumerate(marks.ROLES))
        _, report = self.run_traced(code)
        roles = self.roles(report)
        self.assertEqual({role: roles.get(role) for role in marks.ROLES},
                         {role: number + 2 for number, role in enumerate(marks.ROLES)})

    def test_snapshots(self):
        _, report = self.run_traced(SNAPSHOTS)
        process = self.only_process(report)
        one, two = (entry for entry in process["snapshots"] if entry["memory"] == "host")
        self.assertEqual([(entry["name"], entry["phase"], [row["asked"] >> 20 for row in entry["at"][:1]])
                          for entry in (one, two)], [("one", "other", [40]), ("two", "inner", [10])])
        for entry in (one, two):
            self.assertEqual(sum(row["bytes"] for row in entry["at"]), entry["bytes"])
        self.assertAlmostEqual((one["bytes"] - two["bytes"]) / harness.MIB, 30, delta=1)
        self.assertNotIn("one", {phase["phase"] for phase in process["phases"]})
        self.assertEqual(process["snapshots_left_out"], 0)
        text = self.report_text()
        self.assertRegex(text, r"\nSnapshot one, at \d+\.\d s: 4\d\.\d\d MiB allocated; largest, by your line: <string>:3 40\.00 MiB")

    def test_a_packed_file_without_names(self):
        """As in names of phases: the host's name is replaced."""
        host = socket.gethostname()
        self.run_traced(SNAPSHOTS.replace('"one"', f'"on {host}"'))
        packed = os.path.join(self.scratch, "packed.memtrace.zst")
        subprocess.run([harness.COMMAND, "pack", self.out, "--redact", "-o", packed], env=harness.bare_environment(),
                       check=True, capture_output=True)
        self.assertIn(f"\nSnapshot on {host},", self.report_text())
        text = self.report_text(path=packed)
        self.assertIn("\nSnapshot on host1,", text)
        self.assertEqual(text.count("\nSnapshot "), 2)

    def test_in_the_last_window(self):
        """A trace that is full has its last part in windows, and rows for what was before."""
        code = ("import memtrace\nkept = bytearray(40 << 20)\nmemtrace.snapshot('early')\n"
                "for n in range(60000):\n    bytearray(5000 + n)\nmemtrace.snapshot('late')\n")
        _, report = self.run_traced(code, MEMTRACE_MAX_TRACE="1M", MEMTRACE_STACKS="none")
        process = self.only_process(report)
        self.assertTrue(any(".window" in name for name in os.listdir(self.out)))
        found = [(entry["name"], entry["at"][0]["asked"] >> 20) for entry in process["snapshots"] if entry["memory"] == "host"]
        self.assertEqual(found, [("early", 40), ("late", 40)])
        self.assertEqual({row["phase"] for row in process["phases"]}, {"other"})

    def test_many_snapshots(self):
        _, report = self.run_traced("import memtrace\nfor n in range(100): memtrace.snapshot(str(n))\n")
        process = self.only_process(report)
        names = [entry["name"] for entry in process["snapshots"] if entry["memory"] == "host"]
        self.assertEqual(names, [str(n) for n in (*range(32), *range(68, 100))])
        self.assertEqual(process["snapshots_left_out"], 36)
        self.assertIn("Left out: 36 snapshots between the first 32 and the last 32", " ".join(self.report_text().split()))

    def test_is_recording(self):
        code = "import memtrace; print(memtrace.is_recording())"
        self.assertEqual(self.run_traced(code)[0], "True\n")
        self.assertEqual(self.run_traced(code, MEMTRACE="0")[0], "False\n")
        self.assertEqual(self.bare([sys.executable, "-c", code], python_package.environment(), text=True).stdout, "False\n")

    def test_errors_do_not_depend_on_the_trace(self):
        bare = self.bare([sys.executable, "-c", ERRORS], python_package.environment(), text=True)
        self.assertEqual((bare.returncode, bare.stderr), (0, ""))
        self.assertEqual(self.run_traced(ERRORS)[0], bare.stdout)
        lines = bare.stdout.splitlines()
        self.assertRegex(lines[0], r"ValueError memtrace.label: no role 'weights'; the roles are parameter, .*kv_cache")
        self.assertRegex(lines[1], r"TypeError memtrace.label: 'list' has no memory that a label can name; give a tensor")
        self.assertEqual(len(lines), 3)

    def test_the_import_loads_nothing_else(self):
        """On each version of CPython that the machine has."""
        for version, python in {"this": sys.executable, **python_package.pythons()}.items():
            with self.subTest(version):
                done = self.bare([python, "-c", IMPORTED], python_package.environment(), text=True)
                self.assertEqual(done.stderr, "")
                modules, names = done.stdout.splitlines()
                self.assertEqual(modules, "['memtrace', 'memtrace.marks']")
                for name in ("CommandError", "Trace", "is_recording", "label", "open", "phase", "snapshot", "step"):
                    self.assertIn(f"'{name}'", names)

    def test_marks_on_each_python(self):
        for version, python in python_package.pythons().items():
            with self.subTest(version):
                self.out = os.path.join(self.scratch, version)
                _, report = self.run_traced(LABELS + "memtrace.snapshot('here')\n", python)
                roles = self.roles(report)
                self.assertEqual({role: roles.get(role) for role in ROLES}, ROLES)
                names = {entry["name"] for entry in self.only_process(report)["snapshots"]}
                self.assertEqual(names, {"here"})


if __name__ == "__main__":
    unittest.main()
