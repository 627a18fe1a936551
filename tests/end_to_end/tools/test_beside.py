"""Purpose: tests that a watched program executes as many instructions as one that is not watched, and that the watcher takes
little CPU time and memory.

Callgrind counts them. Under valgrind, the program's own thread writes the trace, and its clock decides how often it reads
figures of the kernel, so two equal runs differ by some ten thousand instructions.
"""
import glob
import os
import re
import shutil
import subprocess
import time
import unittest

import harness
from terminal import PROMPT, TMUX, Terminal

VALGRIND = shutil.which("valgrind")
STEPS = 200000  # about 20 s: roles are written after 10
ALLOWED = 0.001  # of the instructions
PROGRAMS = os.path.dirname(harness.program("language_model.py"))


@unittest.skipUnless(VALGRIND, "no valgrind: scripts/setup installs it")
class Instructions(harness.Case):
    def start(self, name, *options):
        """Starts a program that makes and frees blocks in marked steps, under callgrind."""
        program = [VALGRIND, "--tool=callgrind", "--callgrind-out-file=/dev/null", harness.victim("many_steps"), str(STEPS), "0"]
        process = subprocess.Popen([harness.COMMAND, "run", "-o", os.path.join(self.out, name), *options, "--", *program],
                                   env=harness.bare_environment(**harness.RECORD_ALL), cwd=self.scratch,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def counted(self, process):
        _, err = process.communicate(timeout=800)
        self.assertEqual(process.returncode, 0, err)
        return int(re.search(r"Collected : (\d+)", err)[1])

    def check(self, what, watched):
        """`watched` runs the program, and returns its count. One run in several has 0.1 % more, with or without, by what the
        recorder reads at some instants. So the lowest of up to three runs count."""
        counts, alone = [], []
        for attempt in map(str, range(3)):
            counts.append(watched(what + attempt))
            alone.append(self.counted(self.start("alone" + attempt)))
            print(f"{what}: {counts[-1]:,} instructions, {alone[-1]:,} without", flush=True)
            if abs(min(counts) / min(alone) - 1) < ALLOWED:
                return
        self.fail(f"{counts} instructions, {alone} without")

    def with_top(self, name):
        process = self.start(name)
        folder = os.path.join(self.out, name)
        terminal = Terminal(self, name=name)
        while sum(map(os.path.getsize, glob.glob(os.path.join(folder, "*.memtrace")))) < 1 << 16:
            self.assertIsNone(process.poll(), "it ended before top came")
            time.sleep(0.05)
        terminal.line(f"LC_ALL=C.UTF-8 {harness.COMMAND} top {folder} --interval 0.2")
        terminal.wait_for(r"step [\d,]+ in")
        self.assertIsNone(process.poll(), "it ended before top read it")
        count = self.counted(process)
        terminal.wait_for("exited with 0")
        terminal.keys("q")
        terminal.wait_for(PROMPT)
        return count

    def with_metrics(self, name):
        path = os.path.join(self.scratch, name + ".prom")
        process = self.start(name, "--metrics-file", path, "--metrics-roles", "--warn-at", "90%")
        text = ""
        while "memtrace_role_bytes" not in text:
            self.assertIsNone(process.poll(), "it ended before its roles were written")
            time.sleep(0.05)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
        return self.counted(process)

    @harness.only_in_long
    @unittest.skipUnless(TMUX, "no tmux: scripts/setup installs it")
    def test_top(self):
        self.check("top", self.with_top)

    @harness.only_in_long
    def test_metrics_and_warnings(self):
        self.check("metrics", self.with_metrics)


class Training(harness.Case):
    """CPU time and memory are those of the kernel's accounts: no wall time decides."""
    PROGRAM = ("import os, torch, language_model\ntorch.set_num_threads(1)\nmodel = language_model.Model()\n"
               "optimizer = torch.optim.AdamW(model.parameters())\n"
               "while not os.path.exists('stop'): language_model.train(model, optimizer)\n")
    SECONDS = 60

    def used(self, pid):
        """Returns the seconds of CPU of a process."""
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, pid):
        """Returns the anonymous and the resident MiB of a process."""
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            figures = dict(re.findall(r"^(\w+):\s+(\d+) kB$", file.read(), re.M))
        return int(figures["RssAnon"]) >> 10, int(figures["VmRSS"]) >> 10

    def pid_of(self, *words):
        done = subprocess.run(["pgrep", *words], capture_output=True, text=True, check=True)
        return int(done.stdout.split()[-1])

    @harness.only_in_long
    @unittest.skipUnless(TMUX, "no tmux: scripts/setup installs it")
    def test_cpu_and_memory(self):
        for options in ([], ["--metrics-roles"]):
            with self.subTest(options=options):
                self.measure(os.path.join(self.out, str(len(options))), options)

    def measure(self, out, options):
        path = os.path.join(self.scratch, "f.prom")
        process = subprocess.Popen([harness.COMMAND, "run", "-o", out, "--metrics-file", path, *options, "--",
                                    harness.torch_python(), "-c", self.PROGRAM], cwd=self.scratch,
                                   env=harness.bare_environment(PYTHONPATH=PROGRAMS, OMP_NUM_THREADS="1"))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        terminal = Terminal(self, name=os.path.basename(out))
        while not glob.glob(os.path.join(out, "*.memtrace")):
            self.assertIsNone(process.poll())
            time.sleep(0.1)
        terminal.line(f"LC_ALL=C.UTF-8 {harness.COMMAND} top {out}")
        terminal.wait_for(r"step \d[\d,]+ in", seconds=120)
        pids = {"top": self.pid_of("-f", f"memtrace top {out}"), "run": self.pid_of("-P", str(process.pid), "memtrace")}
        before = {name: self.used(pid) for name, pid in pids.items()}
        time.sleep(self.SECONDS)
        for name, pid in pids.items():
            cpu = self.used(pid) - before[name]
            print(f"{name} {' '.join(options)}: {cpu:.2f} s of CPU in {self.SECONDS} s ({100 * cpu / self.SECONDS:.1f} %), "
                  f"anonymous and resident MiB: {self.memory(pid)}", flush=True)
            self.assertLess(cpu, 0.02 * self.SECONDS, name)
        with open(os.path.join(self.scratch, "stop"), "w", encoding="ascii"):
            pass
        self.assertEqual(process.wait(60), 0)
        os.unlink(os.path.join(self.scratch, "stop"))


if __name__ == "__main__":
    unittest.main()
