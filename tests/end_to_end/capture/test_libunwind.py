"""Purpose: tests the preload object whose unwinder is libunwind: frames equal those of memtrace's own unwinder,
and programs do not notice libunwind."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import unittest

import compare
import harness

LIBRARY = os.path.join(harness.BUILD, "tests", "libunwind", "libmemtrace.so")
SONAME = "libunwind.so.8"
# Victims that libunwind could disturb: exceptions, forks, descriptors, unloaded code, small stacks, ends of threads.
DISTURBED = [("throw",), ("fork",), ("fork_in_loader",), ("fork_race",), ("next_fd",), ("dlopen",), ("dlmopen",),
             ("signal_malloc",), ("longjmp",), ("threads",), ("tls_end",), ("cancelled",)]
LARGE = [("stacks",), ("small_stack",), ("threads_in_child",)]
LOSSES = {"signal_malloc": {"reentered"}}
NATIVE = {**harness.RECORD_ALL, "MEMTRACE_STACKS": "native"}


def needed(library):
    dynamic = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))


class Libunwind(compare.InvisibleCase):
    preload = LIBRARY
    losses = frozenset()

    def setUp(self):
        super().setUp()
        if not os.path.exists(LIBRARY):
            self.skipTest(f"{LIBRARY} is not built: libunwind.h is missing (libunwind-dev)")
        try:
            ctypes.CDLL(SONAME)
        except OSError as error:
            self.skipTest(f"libunwind cannot be opened: {error}")

    def environment(self, **more):
        return {**super().environment(**more), "LD_PRELOAD": self.preload}

    def check_report(self, mode, report):
        for process in report["processes"]:
            self.assertLessEqual(set(process["trace"]["lost_reasons"]), set(self.losses), process["pid"])

    def frames_by(self, preload, command, **more):
        """Returns the native frames of the largest site of a program, innermost first."""
        self.preload = preload
        shutil.rmtree(self.out, ignore_errors=True)
        done, report = self.trace(command, {**NATIVE, **more})
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [row for peak in self.only_process(report)["peaks"] for row in peak["at_peak"]]
        site = max(rows, key=lambda row: row["bytes"])["site"] or {"frames": []}
        return [(frame["function"], frame["file"], frame["line"], os.path.basename(frame["module"]))
                for frame in site["frames"]]

    def program(self):
        path = os.path.join(self.scratch, "program")
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-o", path, harness.program("inlined.cpp")], check=True)
        return path

    def test_frames_are_those_of_our_own_unwinder(self):
        in_python = [sys.executable, "-S", "-c", "import json; x = json.loads('[' + '1.5,' * 300000 + '1]')"]
        for command, innermost in (([self.program()], "take"), (in_python, None)):
            with self.subTest(command[0]):
                ours = self.frames_by(harness.LIBRARY, command)
                self.assertGreater(len(ours), 2)
                self.assertEqual(self.frames_by(LIBRARY, command), ours)
                if innermost:
                    self.assertEqual(ours[0][0].split("(")[0], innermost)

    def test_libunwind_is_opened_and_not_linked(self):
        self.assertLessEqual(needed(LIBRARY), {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"})
        gate = os.path.join(harness.ROOT, "scripts", "gates", "check_hook_symbols.py")
        subprocess.run([sys.executable, gate, LIBRARY], check=True)
        for preload, opened in ((LIBRARY, True), (harness.LIBRARY, False)):
            self.preload = preload
            done = self.run_in("traced", ["cat", "/proc/self/maps"], self.environment(**NATIVE))
            self.assertEqual(SONAME.encode() in done.stdout, opened)

    def test_without_libunwind_there_are_no_native_frames(self):
        """It is missing, or the program uses it too."""
        decoy = os.path.join(self.scratch, SONAME)
        subprocess.run(["cc", "-shared", f"-Wl,-soname,{SONAME}", "-o", decoy, "-x", "c", "/dev/null"], check=True)
        program = self.program()
        for case, preload, path in (("missing", LIBRARY, self.scratch), ("shared", f"{LIBRARY}:{SONAME}", "")):
            with self.subTest(case):
                self.assertEqual(self.frames_by(preload, [program], LD_LIBRARY_PATH=path), [])

    def test_victims(self):
        for name, *arguments in DISTURBED + LARGE:
            with self.subTest(victim=name):
                self.losses = LOSSES.get(name, set())
                self.check([harness.victim(name), *arguments], records=(name,) in LARGE)


if __name__ == "__main__":
    unittest.main()
