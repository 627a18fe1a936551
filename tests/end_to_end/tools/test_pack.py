"""Purpose: tests that a packed file gives the report of its traces on any machine, and how small it is."""
import filecmp
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import packs
from harness import COMMAND, ROOT, bare_environment, program, torch_python
from pack_case import Pack

OF_TRAINING = (["explain"], ["explain", "--format", "json"], ["diff", "--first-vs-steady"])


class SameReport(Pack):
    def test_names_outlive_the_programs_libraries(self):
        folder = os.path.join(self.scratch, "image")
        self.run_in("traced", [self.build(folder)], self.environment(MEMTRACE_MIN_PEAK="0"))
        before = self.outputs(self.out)
        self.pack()
        shutil.rmtree(folder)
        self.assertIn(b"make at native/library.c:6", before["report"])
        self.assertNotEqual(self.outputs(self.out)["report"], before["report"], "the names came from the image")
        self.assertEqual(self.outputs(self.packed), before)
        unpacked = os.path.join(self.scratch, "unpacked")
        self.memtrace("unpack", self.packed, "-o", unpacked)
        self.assertEqual(self.outputs(unpacked)["report --all"], before["report --all"])

    def test_unpack_gives_the_files_of_the_job(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image")), "--killed"],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        unpacked = os.path.join(self.scratch, "new", "unpacked")
        said = self.memtrace("unpack", self.packed, "-o", unpacked)[1]
        names = os.listdir(unpacked)
        self.assertEqual(said, f"memtrace: unpacked {len(names)} files into {unpacked}\n")
        same = filecmp.cmpfiles(self.out, unpacked, os.listdir(self.out), shallow=False)[0]
        for suffix in (".memtrace", ".rings"):
            self.assertTrue(any(name.endswith(suffix) for name in same), (suffix, same, names))
        self.assertEqual(self.memtrace("report", unpacked)[0], self.memtrace("report", self.packed)[0])
        said = self.memtrace("unpack", self.packed, "-o", unpacked, status=2)[1]
        self.assertRegex(said, rf"\Amemtrace: {unpacked}/[^\n]*: cannot be written \(File exists\); name another directory\n")
        self.assertEqual(sorted(os.listdir(unpacked)), sorted(names), "nothing is lost")
        said = self.memtrace("unpack", self.trace_files()[0], "-o", self.scratch + "/none", status=2)[1]
        self.assertIn("is not a packed file; name one that memtrace pack wrote", said)

    def test_a_library_is_opened_once_for_all_processes(self):
        folder = os.path.join(self.scratch, "image")
        made = self.build(folder)
        self.run_in("traced", ["sh", "-c", f"{made}; {made}; {made}"], self.environment(MEMTRACE_MIN_PEAK="0"))
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-Wl,--build-id", "-o",
                        os.path.join(folder, "libprivatefill.so"), program("library.c")], check=True)
        said = self.memtrace("pack", self.out, "-o", self.packed)[1]
        self.assertGreaterEqual(len([name for name in packs.members(self.packed) if name.endswith(".symbols")]), 3)
        self.assertEqual(said.count("libprivatefill.so: not the build that was traced"), 1, said)

    def test_diff_reads_one_or_two_packed_files(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        other = self.pack(to=os.path.join(self.scratch, "other.zst"))
        said = self.memtrace("diff", self.out, self.out)
        for a, b in ((self.packed, self.out), (self.out, self.packed), (self.packed, other)):
            self.assertEqual(self.memtrace("diff", a, b), said)

    def test_pack_is_the_same_each_time(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        again = self.pack(to=os.path.join(self.scratch, "again.zst"))
        repacked = self.pack(of=self.packed, to=os.path.join(self.scratch, "repacked.zst"))
        for other in (again, repacked):
            self.assertTrue(filecmp.cmp(self.packed, other, shallow=False), other)

    def test_says_what_it_packed(self):
        made = self.build(os.path.join(self.scratch, "image"))
        self.run_in("traced", ["sh", "-c", f"{made}; {made}; true"], self.environment(MEMTRACE_MIN_PEAK="0"))
        out, said = self.memtrace("pack", self.out, "-o", self.packed)
        self.assertEqual(out, b"")
        size = os.path.getsize(self.packed) / (1 << 20)
        self.assertEqual(said, f"memtrace: packed {len(self.trace_files())} traces into {self.packed}, {size:.2f} MiB\n")

    def test_replaces_an_older_file_but_nothing_recorded(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        with open(self.packed, "rb") as file:
            packed = file.read()
        other = os.path.join(self.scratch, "older.zst")
        with open(other, "wb") as file:
            file.write(b"older")
        self.memtrace("pack", self.out, "-o", other)
        self.assertTrue(filecmp.cmp(self.packed, other, shallow=False))
        trace = self.trace_files()[0]
        with open(trace, "rb") as file:
            recorded = file.read()
        for command in ("report", "postmortem", "pack"):
            out, said = self.memtrace(command, self.out, "-o", trace, status=2)
            self.assertEqual((out, said), (b"", f"memtrace: {trace}: is a trace, which memtrace does not replace; "
                                                "name another file\n"))
        for command in ("report", "postmortem", "pack"):
            said = self.memtrace(command, self.packed, "-o", self.packed, status=2)[1]
            self.assertIn("is a packed file, which memtrace does not replace", said)
        self.assertIn("is not a regular file", self.memtrace("pack", self.out, "-o", "/dev/null", status=2)[1])
        for path, content in ((trace, recorded), (self.packed, packed)):
            with open(path, "rb") as file:
                self.assertEqual(file.read(), content, path)

    def test_a_report_replaces_an_older_one(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        path = os.path.join(self.scratch, "report.txt")
        written = []
        for _ in range(2):
            self.memtrace("report", self.out, "-o", path)
            with open(path, "rb") as file:
                written.append(file.read())
        self.assertEqual(written[0], written[1])
        self.assertEqual(self.memtrace("report", self.out)[0], written[0])

    def test_of_two_packs_at_once_the_file_is_whole(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        both = [subprocess.Popen([COMMAND, "pack", self.out, "-o", self.packed], env=bare_environment(),
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [one.communicate(timeout=60)[1] for one in both]
        # If both finish, the second one meets a packed file, which it does not replace.
        self.assertEqual(sorted(one.returncode for one in both), [0, 2], said)
        self.assertIn("run.memtrace.zst: ", "".join(said))
        self.memtrace("report", self.packed)
        self.assertEqual([name for name in os.listdir(self.scratch) if name.startswith("run.memtrace.zst")],
                         ["run.memtrace.zst"])

    def test_a_killed_job_of_python_with_rings_and_its_evidence(self):
        code = "import os, signal; held = bytearray(b'x' * (50 << 20)); os.kill(os.getpid(), signal.SIGKILL)"
        done = self.run_in("traced", [sys.executable, "-c", code], self.environment())
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(len(self.ring_files()), 1)
        before = self.outputs(self.out)
        self.pack()
        names = list(packs.members(self.packed))
        self.assertEqual(names[0], "pack.json")
        for suffix in (".rings", ".memtrace.columns", ".evidence", ".symbols"):
            self.assertTrue(any(name.endswith(suffix) for name in names), (suffix, names))
        shutil.rmtree(self.out)
        self.assertEqual(self.outputs(self.packed), before)

    def test_rings_in_a_spool_directory_are_packed(self):
        spool = os.path.join(self.scratch, "spool")
        os.makedirs(spool)
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image")), "--killed"],
                    self.environment(MEMTRACE_MIN_PEAK="0", MEMTRACE_SPOOL=spool))
        self.assertEqual(len(os.listdir(spool)), 1)
        before = self.outputs(self.out)
        self.pack()
        shutil.rmtree(spool)
        self.assertNotEqual(self.outputs(self.out), before, "the rings had records")
        self.assertEqual(self.outputs(self.packed), before)

    def test_a_process_that_ran_when_it_was_packed_still_runs(self):
        code = "import sys; held = bytearray(b'x' * (50 << 20)); print(flush=True); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", code], env=self.environment(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, cwd=self.scratch) as running:
            running.stdout.readline()
            time.sleep(1)
            self.pack()
            running.stdin.close()
        self.assertIn(b"still running", self.memtrace("report", self.packed)[0])
        self.assertNotIn(b"still running", self.memtrace("report", self.out)[0])

    def test_run_packs_at_the_end(self):
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--min-peak", "0", "--pack", self.packed, "--",
                                      self.build(os.path.join(self.scratch, "image")), "--killed"],
                           bare_environment(MEMTRACE_SKIP=""))
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        before = self.outputs(self.out)
        self.assertEqual(self.outputs(self.packed), before)
        self.assertIn(b"memtrace run: wait status: signal 9", before["postmortem --format json"])
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--pack", "/proc/none", "--", sys.executable,
                                      "-c", "held = bytearray(b'x' * (50 << 20))"], bare_environment())
        self.assertEqual(done.returncode, 0, "the status is the command's")
        self.assertIn(b"memtrace: run: not packed: /proc/none: cannot be written", done.stderr)

    def test_run_leaves_only_the_packed_file(self):
        run = [COMMAND, "run", "-o", self.out, "--min-peak", "0", "--only-packed", "--pack"]
        made = self.build(os.path.join(self.scratch, "image"))
        done = self.run_in("traced", [*run, self.packed, "--", made, "--killed"], bare_environment(MEMTRACE_SKIP=""))
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        self.assertFalse(os.path.exists(self.out))
        self.assertIn(b"memtrace run: wait status: signal 9", self.memtrace("postmortem", "--format", "json", self.packed)[0])
        os.makedirs(self.out)
        other = os.path.join(self.out, "other.memtrace")
        with open(other, "wb") as file:
            file.write(b"of another run")
        second = os.path.join(self.scratch, "second.zst")
        self.run_in("traced", [*run, second, "--", made], bare_environment(MEMTRACE_SKIP=""))
        left = os.listdir(self.out)
        self.assertIn("other.memtrace", left)
        self.assertEqual([name for name in left if name.endswith((".memtrace", ".rings", ".coarse"))], ["other.memtrace"])
        self.assertIn("job", left, "another trace may need it")

    def test_run_keeps_the_traces_of_a_process_that_still_runs(self):
        code = ("import os, sys, time\nheld = bytearray(b'x' * (50 << 20))\n"
                "if os.fork() == 0:\n    held += bytearray(b'x' * (50 << 20))\n    print(os.getpid(), flush=True)\n"
                "    os.close(1)\n    os.close(2)\n    time.sleep(60)\nelse:\n    time.sleep(1)")
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--pack", self.packed, "--only-packed", "--",
                                      sys.executable, "-c", code], bare_environment())
        os.kill(int(done.stdout), signal.SIGKILL)
        self.assertIn(b"memtrace: run: the traces stay beside the packed file: 1 process is still running\n", done.stderr)
        self.assertEqual(len(self.trace_files()), 2)

    def test_two_runs_that_pack_into_one_file_lose_nothing(self):
        made = self.build(os.path.join(self.scratch, "image"))
        places = [os.path.join(self.scratch, name) for name in "ab"]
        gate = os.path.join(self.scratch, "gate")
        runs = [subprocess.Popen([COMMAND, "run", "-o", place, "--min-peak", "0", "--pack", self.packed,
                                  "--only-packed", "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.02; done; {made}"],
                                 env=bare_environment(MEMTRACE_SKIP=""), stderr=subprocess.PIPE, text=True)
                for place in places]
        time.sleep(0.5)  # both have seen that there is no packed file
        os.mkdir(gate)
        said = [run.communicate(timeout=60)[1] for run in runs]
        self.assertEqual([run.returncode for run in runs], [0, 0], said)
        self.memtrace("report", self.packed)
        left = [place for place in places if os.path.exists(place)]
        self.assertEqual(len(left), 1, said)
        self.assertIn(f"run.memtrace.zst: cannot be written (File exists); name another file; the traces are in {left[0]}",
                      said[places.index(left[0])])
        self.memtrace("report", left[0])

    def test_only_packed_leaves_the_folder_of_the_rings(self):
        spool = os.path.join(self.scratch, "spool")
        os.makedirs(spool)
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--min-peak", "0", "--pack", self.packed,
                                      "--only-packed", "--", self.build(os.path.join(self.scratch, "image")), "--killed"],
                           bare_environment(MEMTRACE_SKIP="", MEMTRACE_SPOOL=spool))
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        self.assertEqual(os.listdir(spool), [])
        self.assertFalse(os.path.exists(self.out))

    def test_only_packed_keeps_a_file_that_changed(self):
        """A process that the command cannot see writes on."""
        code = """if True:
            import os, subprocess, sys
            held = bytearray(b"x" * (50 << 20))
            trace = next(entry.path for entry in os.scandir(sys.argv[1]) if entry.name.endswith(".memtrace"))
            write = f"while [ -e {trace} ]; do printf more >> {trace}; done"
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            print(subprocess.Popen(["sh", "-c", write], env={}, start_new_session=True, **quiet).pid, flush=True)
            """
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--pack", self.packed, "--only-packed", "--",
                                      sys.executable, "-c", code, self.out], bare_environment())
        os.kill(int(done.stdout), signal.SIGKILL)
        self.assertRegex(done.stderr.decode(), r"memtrace: run: the traces stay beside the packed file: \S+ has changed since")
        self.assertEqual(len(self.trace_files()), 1)

    def test_run_replaces_an_older_file_but_no_trace(self):
        hold = [sys.executable, "-c", "held = bytearray(b'x' * (50 << 20)); raise SystemExit(3)"]
        with open(self.packed, "wb") as file:
            file.write(b"older")
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--pack", self.packed, "--", *hold],
                           bare_environment())
        self.assertEqual(done.returncode, 3, "the status is the command's")
        self.memtrace("report", self.packed)
        trace = self.trace_files()[0]
        second = os.path.join(self.scratch, "second")
        done = self.run_in("traced", [COMMAND, "run", "-o", second, "--pack", trace, "--", *hold], bare_environment())
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (2, f"memtrace: {trace}: is a trace, which memtrace does not replace; name another file\n"))
        self.assertFalse(os.path.exists(second), "nothing was started")


class Size(Pack):
    def ratio(self, path):
        """Returns the size of the packed file over that of `xz -9` of the files in it."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        self.memtrace("unpack", path, "-o", folder)
        files = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                files.append(file.read())
        return os.path.getsize(path) / len(lzma.compress(b"".join(files), preset=9))

    def test_a_training_run_with_and_without_rings(self):
        script = os.path.join(ROOT, "scripts", "demo_train.py")
        code = ("import os, runpy, signal, sys; runpy.run_path(sys.argv[1], run_name='__main__');"
                "len(sys.argv) > 2 and os.kill(os.getpid(), signal.SIGKILL)")
        for more in ([], ["--killed"]):
            self.new_scratch()
            self.setUp()
            self.run_in("traced", [torch_python(), "-c", code, script, *more], self.environment())
            self.assertEqual(len(self.ring_files()), len(more))
            before = self.outputs(self.out, *OF_TRAINING)
            ratios = [round(self.ratio(self.pack()), 3), round(self.ratio(self.pack("--redact")), 3)]
            print(f"{more}: {os.path.getsize(self.packed)} bytes, of xz -9: {ratios}", flush=True)
            self.assertLess(max(ratios), 0.9)
            self.pack()
            self.assertEqual(self.outputs(self.packed, *OF_TRAINING), before)


if __name__ == "__main__":
    unittest.main()
