"""Purpose: tests an armed process (MEMTRACE=armed): it keeps levels alone until `memtrace arm`, a level or a growth calls
it. Its trace then begins with what it held, by the sum that the program itself makes."""
import glob
import os
import struct
import subprocess
import time
import unittest

import harness

MIB = harness.MIB
QUIET = {"MEMTRACE_QUIET": "1"}
# What a C program holds before its first line: the buffers of stdio and of the loader.
START = 64 * 1024


class Obeys:
    """A program that takes and frees memory as its stdin says."""

    def __init__(self, case, **settings):
        self.run = subprocess.Popen([harness.victim("obeys")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env=case.environment(MEMTRACE="armed", **settings),
                                    text=True, bufsize=1)
        self.pid, self.held = self.run.pid, 0
        case.addCleanup(self.end)

    def do(self, *lines):
        for line in lines:
            self.run.stdin.write(line + "\n")
            self.pid, self.held = map(int, self.run.stdout.readline().split())

    def end(self):
        if self.run.poll() is None:
            self.run.stdin.write("q\n")
            self.run.stdin.close()
            self.run.wait(30)
        for pipe in (self.run.stdout, self.run.stderr):
            pipe.close()
        return self.run.returncode

    def maps(self):
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as file:
            return file.read()


def live_rows(process):
    return [entry for entry in process["peaks"] if entry["memory"] == "host" and entry["measure"] == "live"]


class Armed(harness.Case):
    def arm(self, *words):
        return subprocess.run([harness.COMMAND, "arm", *words], env=harness.bare_environment(), capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, check=False, timeout=60, cwd=self.scratch)

    def names(self):
        return sorted(os.path.basename(path).rsplit(".", 1)[-1] for path in glob.glob(os.path.join(self.out, "*")))

    def armed_file(self):
        return glob.glob(os.path.join(self.out, "*.armed"))

    def test_a_small_process_leaves_nothing(self):
        done = self.run_in("traced", ["/bin/true"], self.environment(MEMTRACE="armed"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertFalse(os.path.exists(self.out))

    def test_one_file_of_a_page_mapped_and_closed(self):
        program = Obeys(self)
        program.do(f"a {64 * MIB}", "a 10000")
        self.assertEqual(self.names(), ["armed"])
        self.assertEqual(os.path.getsize(self.armed_file()[0]), 4096)
        self.assertIn(self.armed_file()[0], program.maps())
        self.assertNotIn(".rings", program.maps())
        open_files = [os.readlink(path) for path in glob.glob(f"/proc/{program.pid}/fd/*")]
        self.assertFalse([path for path in open_files if "out" in path.split("/")[-2:]], open_files)
        self.assertEqual(len(os.listdir(f"/proc/{program.pid}/task")), 1)
        self.assertEqual(program.end(), 0)
        self.assertFalse(os.path.exists(self.out), "the file and its directory go with the process")

    def test_the_trace_begins_with_what_was_held(self):
        program = Obeys(self, **QUIET)
        program.do(*[f"a {3 * MIB}"] * 20, f"m {16 * MIB}", "s 50000", "F 20000")
        before = program.held
        done = self.arm(str(program.pid), "--wait", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not answer within 0 s", done.stdout)
        time.sleep(0.02)  # a process looks for the call once in 4 ms at most
        program.do("a 5000")  # its first event after the call
        done = self.arm(str(program.pid))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn(f"pid {program.pid} records already, to {self.trace_files()[0]}", done.stdout)
        program.do("s 10000", f"a {40 * MIB}")
        highest = before + 40 * MIB
        at_peak = program.held
        program.do(*["f"] * 20)  # blocks of before: the trace has no births of them, and their sizes at their deaths
        at_end = program.held
        self.assertEqual(program.end(), 0)
        process = self.only_process(self.report())
        self.assertEqual(process["end"]["how"], "exit")
        self.assertIsNone(process["rank"])
        self.assertEqual(process["kind"], "main")
        self.assert_nothing_lost(process)
        live = live_rows(process)[0]
        self.assertTrue(highest <= live["bytes"] <= highest + 2 * MIB, (live["bytes"], highest))
        rows = sum(row["bytes"] for row in live["at_peak"])
        self.assertEqual(rows, live["bytes"], "the rows add up")
        block = [row for row in live["at_peak"] if row["site"] and row["bytes"] >= 40 * MIB]
        self.assertEqual(len(block), 1, live["at_peak"])
        self.assertIn("obeys.c", str(block[0]["site"]))
        self.assertFalse({"armed", "rings"} & set(self.names()), self.names())
        # With the flows since the call, what was held before leads to what the program holds at its end.
        held = process["before_recording"]
        self.assertTrue(before + 5000 <= held["live"] <= before + 5000 + START, (held, before))
        before_it = held["live"] - held["small"]  # the flows have the small blocks
        flows = sum(row["allocated"] - row["freed"] for row in process["phases"] if row["memory"] == "host")
        last = before_it + flows - (at_peak - at_end)
        self.assertTrue(at_end <= last <= at_end + START, (last, at_end, before_it, flows))

    def test_threads_that_allocate_at_the_call(self):
        program = Obeys(self, **QUIET)
        program.do(f"a {64 * MIB}", "c 4", "s 30000")
        done = self.arm(str(program.pid))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"^pid {program.pid} records to .*\.memtrace\n$")
        program.do(f"a {8 * MIB}", "f")
        held = program.held
        self.assertEqual(program.end(), 0)
        process = self.only_process(self.report())
        self.assertEqual(process["trace"]["lost_events"], 0, process["trace"])
        live = live_rows(process)[0]["bytes"]
        # Each of the threads holds one block of 8 KiB at a time, and libc keeps data of each.
        self.assertTrue(72 * MIB <= live <= 72 * MIB + 30000 * 120 + MIB, (live, held))

    def test_a_level_calls_it(self):
        program = Obeys(self, MEMTRACE_ARM_AT="100M", **QUIET)
        program.do(f"a {64 * MIB}", f"a {30 * MIB}")
        self.assertEqual(self.names(), ["armed"])
        program.do(f"a {30 * MIB}", f"a {MIB}")
        self.assertIn("memtrace", self.names())
        self.assertEqual(program.end(), 0)
        self.assertGreaterEqual(live_rows(self.only_process(self.report()))[0]["bytes"], 125 * MIB)

    def test_a_child_is_armed_too(self):
        program = Obeys(self, **QUIET)
        program.do(f"a {64 * MIB}", "k", *["a 40000"] * 40, f"a {2 * MIB}")
        self.assertNotEqual(program.pid, program.run.pid)
        self.assertNotIn(f"-{program.run.pid}-", program.maps(), "a call to the child would call its parent")
        files = {os.path.basename(path).split("-")[-2] for path in self.armed_file()}
        self.assertEqual(files, {str(program.pid), str(program.run.pid)})
        done = self.arm(str(program.pid))
        self.assertEqual(done.returncode, 1, done.stdout)
        program.do("a 10000", f"a {20 * MIB}", "f")
        self.assertEqual(program.end(), 0)
        process = self.only_process(self.report())
        self.assertEqual((process["pid"], process["kind"]), (program.pid, "child"))
        live = live_rows(process)[0]["bytes"]
        self.assertTrue(86 * MIB <= live <= 90 * MIB, live)

    def test_all_of_a_job(self):
        first, second = Obeys(self, RANK="0", WORLD_SIZE="2", **QUIET), Obeys(self, RANK="1", WORLD_SIZE="2", **QUIET)
        for program in (first, second):
            program.do(f"a {64 * MIB}", "c 1")
        done = self.arm("--job", self.out, "--rank", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"^rank 1 \(pid {second.pid}\) records to .*\.memtrace\n$")
        self.assertEqual(len(self.trace_files()), 1)
        done = self.arm("--job", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"(?s)^rank 0 \(pid {first.pid}\) records to .*rank 1 .* records already, to ")
        self.assertEqual(len(self.trace_files()), 2)

    def test_a_rank_that_held_more_before_the_call(self):
        ranks = [Obeys(self, RANK=str(rank), WORLD_SIZE="3", **QUIET) for rank in range(3)]
        for rank, program in enumerate(ranks):
            program.do(f"a {(264 if rank == 1 else 64) * MIB}", "c 1")
        report = [harness.COMMAND, "report", self.out]
        early = subprocess.run(report, env=harness.bare_environment(), capture_output=True, text=True, check=False)
        self.assertEqual(early.returncode, 2)
        self.assertIn(f"its processes are armed, and none has recorded yet; memtrace arm --job {self.out}", early.stderr)
        self.assertEqual(self.arm("--job", self.out).returncode, 0)
        for rank, program in enumerate(ranks):
            program.do(f"a {(3 if rank == 1 else 2) * MIB}", "c 1")
            self.assertEqual(program.end(), 0)
        document = self.report()
        [outlier] = document["outliers"]
        self.assertEqual(outlier["rank"], 1)
        row = outlier["rows"][0]
        self.assertIsNone(row["site"])
        self.assertAlmostEqual(row["bytes"] - row["others"], 200 * MIB, delta=START)
        text = subprocess.run(report, env=harness.bare_environment(), capture_output=True, text=True, check=True).stdout
        self.assertRegex(text, r"Most of the difference: before recording, and small blocks, 264\.\d+ MiB here and")
        diff = subprocess.run([harness.COMMAND, "diff", "--rank", "0", "--rank", "1", self.out], text=True,
                              env=harness.bare_environment(), capture_output=True, check=True).stdout
        self.assertRegex(diff, r"\+200\.\d+ +no site +held before recording began")

    def test_run_says_nothing_of_a_program_that_was_not_called(self):
        for words, said in (([], ""), (["--arm-at", "40M"], "memtrace: recording to ")):
            with self.subTest(words=words):
                self.new_scratch()
                done = subprocess.run([harness.COMMAND, "run", "--armed", *words, "-o", self.out, "--",
                                       harness.victim("obeys")], input=f"a {64 * MIB}\na {MIB}\nq\n", text=True,
                                      env=harness.bare_environment(), capture_output=True, check=False, timeout=60)
                self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 2))
                self.assertEqual(done.stderr[:len(said)], said)
                self.assertEqual(len(done.stderr.splitlines()), 1 if said else 0, done.stderr)
                self.assertEqual(len(self.trace_files()), 1 if said else 0)

    def test_steps_that_do_not_count_after_all(self):
        """Without an optimizer, each forward is a step. The first optimizer's step shows that they were one."""
        program = Obeys(self, **QUIET)
        program.do(f"a {64 * MIB}")
        self.arm(str(program.pid), "--steps", "30", "--wait", "0")
        time.sleep(0.05)
        program.do("a 100000")  # the process sees the call
        time.sleep(0.6)  # two passes of memtrace's thread, before the first step
        program.do(*["p forward"] * 20)
        time.sleep(0.6)  # two passes, which count many steps
        program.do("p step")
        time.sleep(0.6)
        for _ in range(35):
            program.do("p forward", "p step")
        time.sleep(0.6)
        program.do("p forward")
        self.assertEqual(program.end(), 0)
        process = self.only_process(self.report("--all-steps"))
        self.assertEqual(process["end"]["how"], "stopped")
        self.assertEqual({row["step"] for row in process["phases"] if isinstance(row["step"], int)}, set(range(36)))

    def test_what_cannot_be_armed(self):
        for words, error in ((["1"], "pid 1: not armed"), (["--job", "none"], "none: no such job"),
                             (["--job", self.scratch], "no armed process"), ([], "expected a PID"),
                             (["1", "--job", "x"], "excludes"), (["x"], "PID")):
            with self.subTest(words=words):
                done = self.arm(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(error, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_bytes_of_others_do_no_harm(self):
        """Any program of the same account may write the file. The process reads two words of it, if it knows it again."""
        chance = harness.chance(7)
        noise = bytes(chance.randrange(1, 256) for _ in range(4096))
        for written, records in ((noise, False), (b"MTARMED1" + noise[8:], True)):
            with self.subTest(records=records):
                self.new_scratch()
                program = Obeys(self, **QUIET)
                program.do(f"a {64 * MIB}", "a 9000")
                with open(self.armed_file()[0], "r+b") as file:
                    file.write(written)
                time.sleep(0.01)  # the process looks at its file once in 4 ms at most
                program.do("a 9000", "a 9000")
                self.assertEqual(program.end(), 0)
                self.assertEqual(self.report() is not None, records)

    def test_a_level_that_rises_is_in_the_file_at_once(self):
        """A process may compute for an hour without another block. `memtrace arm` prints what the file has."""
        program = Obeys(self, **QUIET)
        program.do(f"a {64 * MIB}", f"a {MIB}", f"a {512 * MIB}")
        with open(self.armed_file()[0], "rb") as file:
            live, highest = struct.unpack_from("<QQ", file.read(), 32)
        self.assertEqual(live, highest)
        self.assertGreaterEqual(live, 577 * MIB)
        self.assertLess(live, 578 * MIB)
        self.assertEqual(program.end(), 0)

    def test_a_file_that_another_program_cut(self):
        """A mapping beyond the end of its file would give SIGBUS."""
        for size in (0, 30):
            with self.subTest(size=size):
                self.new_scratch()
                program = Obeys(self, **QUIET)
                program.do(f"a {64 * MIB}", "a 9000")
                os.truncate(self.armed_file()[0], size)
                time.sleep(0.01)
                program.do("a 9000", "a 9000", "t 2")
                done = self.arm(str(program.pid))
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, r"^memtrace: .*\.armed: cannot be read and written by this user, or is damaged\n$")
                program.do(f"a {MIB}")
                self.assertEqual(program.end(), 0)
                self.assertFalse(os.path.exists(self.out))

    def test_what_replaces_the_file(self):
        def link(path):
            os.symlink(os.path.join(self.scratch, "other"), path)

        for replace in (link, os.mkfifo, os.mkdir, lambda path: None):
            self.new_scratch()
            with open(os.path.join(self.scratch, "other"), "wb") as file:
                file.write(bytes(4096))
            program = Obeys(self, **QUIET)
            program.do(f"a {64 * MIB}", "a 9000")
            (path,) = self.armed_file()
            os.unlink(path)
            replace(path)
            for words in ([str(program.pid)], ["--job", self.out]):
                done = self.arm(*words, "--wait", "0")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(len(done.stderr.splitlines()), 1)
            program.do("a 9000", "t 2")
            self.assertEqual(program.end(), 0)
            self.assertEqual(self.trace_files(), [])
            with open(os.path.join(self.scratch, "other"), "rb") as file:
                self.assertEqual(file.read(), bytes(4096))


STEPS = """
import sys, torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024))
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
for line in sys.stdin:
    for _ in range(int(line)):
        loss = model(torch.ones(64, 1024)).square().mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    print(f"{loss.item():.9f}", flush=True)
"""


class Training(harness.Case):
    def run_steps(self, environment, arm):
        run = subprocess.Popen([harness.torch_python(), "-c", STEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment, text=True, bufsize=1)
        self.addCleanup(run.kill)
        losses, said = [], None
        for number, count in enumerate((3, 2, 40, 3)):
            run.stdin.write(f"{count}\n")
            losses.append(run.stdout.readline())
            if number == 0 and arm:
                said = subprocess.run([harness.COMMAND, "arm", str(run.pid), "--steps", "5", "--wait", "0"],
                                      env=harness.bare_environment(), capture_output=True, text=True, check=False)
        _, error = run.communicate()
        self.assertEqual((run.returncode, error), (0, ""))
        return losses, said, run.pid

    def test_five_steps_of_a_training(self):
        bare, _, _ = self.run_steps(harness.bare_environment(), False)
        traced, said, pid = self.run_steps(self.environment(MEMTRACE="armed", **QUIET), True)
        self.assertEqual(traced, bare, "the program computes the same")
        self.assertIn(f"pid {pid} ", said.stdout)
        process = self.only_process(self.report("--all-steps"))
        self.assertEqual(process["end"]["how"], "stopped")
        top = subprocess.run([harness.COMMAND, "top", "--once", self.out], env=harness.bare_environment(),
                             capture_output=True, text=True, check=True).stdout
        self.assertIn(f"pid {pid} stopped recording as asked.", top)
        self.assertNotIn("postmortem", top)
        steps = {row["step"] for row in process["phases"] if isinstance(row["step"], int)}
        self.assertTrue(6 <= len(steps) <= 42, steps)
        phases = {row["phase"] for row in process["phases"]}
        self.assertTrue({"forward", "backward", "step"} <= phases, phases)
        # Parameters and both moments of 8.4 million floats came before; the gradients after.
        before = 3 * 4 * (2 * 1024 * 4096 + 4096 + 1024)
        live = live_rows(process)[0]
        self.assertGreater(live["bytes"], before + before / 3)
        rows = [row for row in live["at_peak"] if row["role"] == "gradient" or "backward" in str(row["born_phase"])]
        self.assertGreater(sum(row["bytes"] for row in rows), 30 * MIB)


if __name__ == "__main__":
    unittest.main()
