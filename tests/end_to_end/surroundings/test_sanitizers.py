"""Purpose: tests that programs built with a sanitizer have equal output with and without memtrace."""
import os
import re
import shutil
import subprocess
import unittest

import harness

QUIET = {"MEMTRACE_QUIET": "1", "MEMTRACE_MIN_PEAK": "0"}
HELD = 64 * harness.MIB
MAPPED = 8 * harness.MIB
STATIC = {"address": "-static-libasan", "thread": "-static-libtsan", "undefined": "-static-libubsan"}


def without_places(text):
    """Returns a sanitizer's messages without the parts that vary between runs: pids, addresses, frames of the
    recorder's calls."""
    lines = re.sub(rb"==\d+==|pid=\d+|tid=\d+|0x[0-9a-f]+|\(BuildId: \w+\)", b"", text).split(b"\n")
    return [line for line in lines if re.search(rb"ERROR: |WARNING: |SUMMARY: |runtime error", line)]


class Sanitizers(harness.Case):
    def build(self, compiler, sanitizer, *options):
        if shutil.which(compiler) is None:
            self.skipTest(f"no {compiler} on PATH: scripts/setup installs it")
        program = os.path.join(self.scratch, f"holds-{sanitizer}")
        done = subprocess.run([compiler, "-g", "-O0", "-pthread", f"-fsanitize={sanitizer}", *options,
                               harness.program("holds.c"), "-o", program], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"{compiler} has no runtime of -fsanitize={sanitizer} here: {done.stderr.strip()[-200:]}")
        return program

    def same(self, program, *arguments, run=False, variables=None):
        """Returns the traced program's completed process, after a comparison with the bare one."""
        bare = self.bare([program, *arguments])
        command = [harness.COMMAND, "run", "--", program, *arguments] if run else [program, *arguments]
        environment = {**QUIET, **(variables or {})}
        if run:
            traced = self.run_in("traced", command, harness.bare_environment(MEMTRACE_OUT=self.out, **environment))
        else:
            traced = self.run_in("traced", command, self.environment(**environment))
        self.assertEqual((traced.stdout, traced.returncode), (bare.stdout, bare.returncode),
                         traced.stderr.decode(errors="replace")[-2000:])
        self.assertEqual(without_places(traced.stderr), without_places(bare.stderr))
        if not arguments:
            self.assertEqual((traced.stderr, traced.returncode), (bare.stderr, 7))
        return traced

    def main_process(self):
        processes = self.report()["processes"]
        main = min(processes, key=lambda process: process["start_unix"])
        self.assert_nothing_lost(main)
        self.assertEqual(main["end"]["how"], "exit")
        self.assertEqual(main["trace"]["damaged_bytes"], 0)
        return main

    def check(self, program, run=False, blocks=True):
        self.same(program, variables={"MEMTRACE": "0"}, run=run)
        self.assertEqual(self.trace_files(), [])
        self.same(program, run=run)
        main = self.main_process()
        self.assertEqual(main["end"]["code"], 7)
        rows = [row for entry in main["peaks"] if entry["measure"] == "live" for row in entry["at_peak"]]
        held = sum(row["blocks"] for row in rows if row["kind"] == "heap" and row["bytes"] >= HELD)
        self.assertEqual(held, 64 if blocks else 0, rows)
        self.assertEqual(sum(row["bytes"] for row in rows if row["kind"] == "mmap_anon"), MAPPED)
        text = self.report_text()
        self.assertEqual("blocks of malloc are not recorded" in text.replace("\n", " "), not blocks, text)
        shutil.rmtree(self.out)
        return self.same(program, "fault", program.rpartition("-")[2], run=run)

    def test_gcc_address_static(self):
        faulty = self.check(self.build("gcc", "address", STATIC["address"]), blocks=False)
        self.assertIn(b"heap-buffer-overflow", faulty.stderr)

    def test_gcc_thread_static(self):
        faulty = self.check(self.build("gcc", "thread", STATIC["thread"]), blocks=False)
        self.assertIn(b"data race", faulty.stderr)

    def test_gcc_undefined_static(self):
        faulty = self.check(self.build("gcc", "undefined", STATIC["undefined"]))
        self.assertIn(b"signed integer overflow", faulty.stderr)

    def test_clang_address(self):
        faulty = self.check(self.build("clang", "address"))
        self.assertIn(b"heap-buffer-overflow", faulty.stderr)

    def test_clang_thread(self):
        faulty = self.check(self.build("clang", "thread"))
        self.assertIn(b"data race", faulty.stderr)

    def test_clang_memory(self):
        faulty = self.check(self.build("clang", "memory"))
        self.assertIn(b"use-of-uninitialized-value", faulty.stderr)

    def test_clang_undefined(self):
        faulty = self.check(self.build("clang", "undefined"))
        self.assertIn(b"signed integer overflow", faulty.stderr)

    def test_gcc_leak_shared(self):
        self.check(self.build("gcc", "leak"), run=True)

    def test_gcc_thread_shared(self):
        program = self.build("gcc", "thread")
        self.check(program, run=True)
        shutil.rmtree(self.out)
        self.check(program)

    def test_gcc_address_shared(self):
        faulty = self.check(self.build("gcc", "address"), run=True)
        self.assertIn(b"heap-buffer-overflow", faulty.stderr)

    def test_clang_address_shared(self):
        folder = subprocess.run(["clang", "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True,
                                check=False).stdout.strip() if shutil.which("clang") else ""
        self.check(self.build("clang", "address", "-shared-libasan", f"-Wl,-rpath,{os.path.dirname(folder)}"), run=True)

    def test_plain_preload_before_shared_address_is_refused_by_it(self):
        program = self.build("gcc", "address")
        done = self.run_in("traced", [program], self.environment(**QUIET))
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"ASan runtime does not come first", done.stderr)

    def test_children_inherit_memtrace_alone(self):
        program = self.build("gcc", "address")
        done = self.run_in("traced", [harness.COMMAND, "run", "--", program, "shell"],
                           harness.bare_environment(MEMTRACE_OUT=self.out, **QUIET))
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(os.path.basename(done.stdout.split(b"\n")[0]), b"libmemtrace.so")
        self.assertIn(b"child 7", done.stdout)

    def test_a_child_with_the_sanitizer_runs(self):
        program = self.build("gcc", "address")
        self.assertIn(b"child 7", self.same(program, "again", run=True).stdout)


if __name__ == "__main__":
    unittest.main()
