"""Purpose: tests the settings and marks that the documentation promises."""
import glob
import json
import os
import re
import subprocess
import sys
import unittest

import harness

MIB = harness.MIB
LARGE = "b = b'x' * (64 << 20)"


class Settings(harness.Case):
    def test_packages_that_a_pth_file_adds(self):
        """They are not lines of the user's: the interpreter does not name this folder as one of its own."""
        venv = os.path.join(self.scratch, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        packages = os.path.join(self.scratch, "another", "site-packages")
        os.makedirs(packages)
        with open(os.path.join(packages, "taker.py"), "w", encoding="utf-8") as file:
            file.write("def take():\n    return bytearray(48 << 20)\n")
        (own,) = glob.glob(os.path.join(venv, "lib", "python3*", "site-packages"))
        with open(os.path.join(own, "another.pth"), "w", encoding="utf-8") as file:
            file.write(packages + "\n")
        script = os.path.join(self.scratch, "train.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import taker\nkept = taker.take()\n")
        self.trace([os.path.join(venv, "bin", "python"), script], {"MEMTRACE_QUIET": "1"})
        self.assertIn("by your line: train.py:2 48.00 MiB", " ".join(self.report_text().split()))

    def test_packages_that_an_installer_put_elsewhere(self):
        """pip --target makes NAME.dist-info beside the package. Such a folder is not a source of the user's, even if it is
        below the working directory."""
        for in_variable in (False, True):
            with self.subTest(in_variable=in_variable):
                self.new_scratch()
                here = os.path.join(self.scratch, "traced")
                packages, own = os.path.join(here, "vendor"), os.path.join(here, "src")
                os.makedirs(os.path.join(packages, "taker-1.0.dist-info"))
                os.makedirs(own)
                for folder, name in ((packages, "taker"), (own, "mine")):
                    with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                        file.write("def take():\n    return bytearray(48 << 20)\n")
                with open(os.path.join(here, "train.py"), "w", encoding="utf-8") as file:
                    file.write(f"import sys\nsys.path.append({packages!r})\nimport taker\nimport mine\n"
                               "kept = taker.take()\nalso = mine.take()\n")
                path = f"{own}:{packages}" if in_variable else own
                self.trace([sys.executable, "train.py"], {"MEMTRACE_QUIET": "1", "PYTHONPATH": path})
                text = " ".join(self.report_text().split())
                self.assertRegex(text, r"by your line: .*src/mine\.py:2 48\.00 MiB")
                self.assertRegex(text, r"by your line: .*train\.py:5 48\.00 MiB")
                (process,) = self.report()["processes"]
                own = {os.path.basename(frame["file"]): frame.get("own", False) for site in process["sites"].values()
                       for frame in site["frames"] if frame["file"].endswith(("taker.py", "mine.py", "train.py"))}
                self.assertEqual(own, {"taker.py": False, "mine.py": True, "train.py": True})

    def test_where_the_trace_goes(self):
        """MEMTRACE_OUT may have patterns, is relative to the start directory, and is made with its parents."""
        self.out = "deep/%h/%p"
        done = self.run_in("traced", ["python3", "-c", f"import os; os.chdir('/'); {LARGE}; print(os.getpid())"],
                           self.environment(MEMTRACE_QUIET="1"))
        place = os.path.join(self.scratch, "traced", "deep", os.uname().nodename, done.stdout.decode().strip())
        files = os.listdir(place)
        self.assertEqual(len([name for name in files if name.endswith(".memtrace")]), 1, files)

    def test_default_place_and_newest_job(self):
        for _ in range(2):
            environment = harness.bare_environment(LD_PRELOAD=harness.LIBRARY, MEMTRACE_QUIET="1")
            self.run_in("traced", ["python3", "-c", LARGE], environment)
        folder = os.path.join(self.scratch, "traced")
        jobs = sorted(os.listdir(os.path.join(folder, "memtrace-out")))
        self.assertEqual(len(jobs), 2)
        done = self.run_in("traced", [harness.COMMAND, "report"], harness.bare_environment())
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (0, f"memtrace: memtrace-out: reading the newest of 2 jobs, {jobs[-1]}\n"))

    def test_skipped_by_name_but_their_children_are_not(self):
        _, report = self.trace(["bash", "-c", "python3 -c pass; true"],
                               {"MEMTRACE_MIN_PEAK": "0", "MEMTRACE_QUIET": "1"})
        self.assertIn("python", self.only_process(report)["exe"])

    def test_only(self):
        _, report = self.trace(["bash", "-c", "python3 -c pass; ls / > /dev/null"],
                               {**harness.RECORD_ALL, "MEMTRACE_ONLY": "ls"})
        self.assertTrue(self.only_process(report)["exe"].endswith("ls"))

    def test_secrets_in_argv_are_not_kept(self):
        command = ["python3", "-c", LARGE, "--api-key=hunter2secret", "--token", "hf_hunter2hunter2hunter2", "plain"]
        self.trace(command, {"MEMTRACE_QUIET": "1"})
        report = self.report_text("--format", "json")
        self.assertNotIn("hunter2", report)
        self.assertIn("plain", report)
        for path in self.trace_files():
            with open(path, "rb") as file:
                self.assertNotIn(b"hunter2", file.read())

    def test_names_that_are_not_utf8(self):
        folder = os.fsencode(self.scratch) + b"/caf\xe9"
        os.mkdir(folder)
        script = folder + b"/pro\xffgram.py"
        with open(script, "w", encoding="ascii") as file:
            file.write(LARGE)
        done, report = self.trace(["python3", script, b"\xfe\xfd"], {"MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0)
        self.only_process(report)
        self.report_text()

    def test_every_block_by_sample_1(self):
        _, report = self.trace([harness.victim("heap_edges")], {**harness.RECORD_ALL, "MEMTRACE_SAMPLE": "1"})
        self.assert_nothing_lost(self.only_process(report))

    def test_no_stacks(self):
        _, report = self.trace(["python3", "-c", LARGE], {"MEMTRACE_QUIET": "1", "MEMTRACE_STACKS": "none"})
        rows = [row for entry in self.only_process(report)["peaks"] for row in entry["at_peak"]]
        self.assertTrue(all(row["site"] is None or not row["site"]["frames"] for row in rows))

    def test_python_frames_of_a_large_block(self):
        self.trace(["python3", harness.program("large.py")], {"MEMTRACE_QUIET": "1"})
        process = self.only_process(self.report("--all"))
        sites = [row["site"]["frames"] for entry in process["peaks"] for row in entry["at_peak"]
                 if row["bytes"] >= 64 * MIB and row["site"]]
        python = [frame for frames in sites for frame in frames if frame["lang"] == "python"]
        self.assertEqual([(frame["function"], os.path.basename(frame["file"]), frame["line"]) for frame in python[:3]],
                         [("hold", "large.py", 5), ("Keeper.keep", "large.py", 10), ("<module>", "large.py", 13)])

    def test_time_begins_with_the_process(self):
        """The process does not record before it holds MEMTRACE_MIN_PEAK, but its time counts."""
        program = f"import time; print(time.time()); time.sleep(2); {LARGE}; print(time.time())"
        done, report = self.trace([sys.executable, "-c", program], {"MEMTRACE_QUIET": "1"})
        began, ended = map(float, done.stdout.split())
        process = self.only_process(report)
        self.assertLessEqual(process["start_unix"], began)
        # Clocks of the wall and of the trace may drift apart.
        self.assertGreaterEqual(process["start_unix"] + process["duration"], ended - 0.1)
        self.assertGreaterEqual(process["peaks"][0]["t"], 1.9)

    def test_same_input_same_output(self):
        self.trace(["python3", "-c", LARGE], {"MEMTRACE_QUIET": "1"})
        self.assertEqual(self.report_text(), self.report_text())
        self.assertEqual(self.report_text("--format", "json"), self.report_text("--format", "json"))
        self.assertLessEqual(max(map(len, self.report_text().splitlines())), 100)
        self.assertNotIn("\x1b", self.report_text())


class Marks(harness.Case):
    def test_phases_and_steps_by_hand(self):
        done, _ = self.trace([harness.victim("marks")], harness.RECORD_ALL)
        self.assertEqual((done.stdout, done.returncode), (b"kept 3\n", 0))
        process = self.only_process(self.report("--steps", "0:2"))
        rows = {(tuple(row["path"]), row["step"]): row for row in process["phases"] if row["memory"] == "host"}
        slack = 65536  # other memory in a phase: rounding to pages, thread structures
        for step in range(3):
            outer, inner = rows[("outer",), step], rows[("outer", "inner"), step]
            self.assertAlmostEqual(outer["net"], 8 * MIB, delta=slack)
            self.assertAlmostEqual(outer["transient"], 5 * MIB, delta=slack)
            # the inner phase has its own flows
            self.assertAlmostEqual(outer["allocated"], 8 * MIB, delta=slack)
            self.assertAlmostEqual(inner["allocated"], 5 * MIB, delta=slack)
            self.assertAlmostEqual(inner["freed"], 5 * MIB, delta=slack)
            self.assertAlmostEqual(outer["peak_live"] - outer["entry_live"], 13 * MIB, delta=slack)
        apart = [row for (path, _), row in rows.items() if path == ("apart",)]
        self.assertEqual(len(apart), 1)
        self.assertAlmostEqual(apart[0]["transient"], 3 * MIB, delta=slack)

    def test_labels(self):
        self.trace([harness.victim("marks")], harness.RECORD_ALL)
        process = self.only_process(self.report("--all"))
        rows = [row for entry in process["peaks"] if entry["measure"] == "live" for row in entry["at_peak"]
                if row["role"] == "parameter"]
        self.assertAlmostEqual(sum(row["bytes"] for row in rows), 24 * MIB, delta=65536)


class Damage(harness.Case):
    """A trace that is cut off or damaged anywhere is read as far as possible and says how much is damaged, or is
    refused in one line."""

    def outcome(self, path):
        """Returns the only process in the report, or None if the file is refused."""
        done = self.run_in("damage", [harness.COMMAND, "report", path, "--format", "json"], harness.bare_environment())
        if done.returncode == 0:
            return self.only_process(json.loads(done.stdout))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.decode(errors="replace").strip().splitlines()), 1, done.stderr)
        self.assertIn(os.path.basename(path).encode(), done.stderr)
        self.assertEqual(done.stdout, b"")
        return None

    def assert_says_how_much(self, path, process, at):
        """The byte at `at` differs from the recorder's, or is missing."""
        trace = process["trace"]
        size = os.path.getsize(path)
        self.assertGreater(trace["damaged_bytes"], 0, f"at byte {at} of {size}: {trace}")
        self.assertEqual(trace["damaged_file"], os.path.basename(path))
        self.assertLessEqual(trace["damaged_at"], at)
        self.assertLessEqual(at, trace["damaged_at"] + trace["damaged_bytes"])
        self.assertLessEqual(trace["damaged_at"] + trace["damaged_bytes"], size)
        text = " ".join(self.report_text(path=path).split())
        self.assertIn(f"{trace['damaged_bytes']:,} of {size:,} bytes are damaged", text)

    def test_cut_off_and_damaged(self):
        self.trace(["python3", "-c", LARGE], {"MEMTRACE_QUIET": "1"})
        with open(self.trace_files()[0], "rb") as file:
            whole = file.read()
        chance = harness.chance(1)
        path = os.path.join(self.scratch, "damaged.memtrace")
        samples = [(whole[:length], length) for length in (0, 1, 63, 64, 65, len(whole) // 2, len(whole) - 1)]
        for start in range(0, len(whole), len(whole) // 12):
            at = min(start + chance.randrange(len(whole) // 12), len(whole) - 1)
            samples.append((whole[:at] + bytes([whole[at] ^ chance.randrange(1, 256)]) + whole[at + 1:], at))
            samples.append((whole[:at] + whole[at + 777:], at))
        read = 0
        for sample, at in samples:
            with self.subTest(at=at, bytes=len(sample)):
                with open(path, "wb") as file:
                    file.write(sample)
                if process := self.outcome(path):
                    self.assert_says_how_much(path, process, at)
                    read += 1
        self.assertGreater(read, len(samples) // 2, "a trace of several segments is read around the damage")

    def test_other_files(self):
        path = os.path.join(self.scratch, "other.memtrace")
        for sample in (b"not a trace\n" * 100, b"\x7fELF" + bytes(5000), harness.chance(1).randbytes(5000),
                       b"MTS\x02" + b"\xff" * 60):
            with self.subTest(sample[:8]):
                with open(path, "wb") as file:
                    file.write(sample)
                self.assertIsNone(self.outcome(path))

    def test_what_is_no_trace(self):
        for name in ("nothing-here.memtrace", "empty-folder"):
            path = os.path.join(self.scratch, name)
            if name == "empty-folder":
                os.mkdir(path)
            self.assertIsNone(self.outcome(path))

    def test_usage(self):
        done = self.run_in("usage", [harness.COMMAND, "no-such-command"], harness.bare_environment())
        self.assertEqual(done.returncode, 2)
        self.assertTrue(re.search(rb"no-such-command", done.stderr))


if __name__ == "__main__":
    unittest.main()
