"""Purpose: memtrace top in a terminal of tmux, and as text, against the report of the same instant."""
import contextlib
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import harness
from harness import MIB
from terminal import PROMPT, TMUX, Terminal

STRACE = shutil.which("strace")
GROWTH = 512  # KiB of each step


def size(text):
    """Returns the bytes that "12.30 MiB" means."""
    number, unit = text.split()
    return float(number) * {"MiB": 1 << 20, "GiB": 1 << 30}[unit]


class TopCase(harness.Case):
    def start(self, growth=GROWTH, pause=0.1, name="state", pairs=0, **settings):
        """Starts a program that marks steps. Returns it once it has made some."""
        state, stop = os.path.join(self.scratch, name), os.path.join(self.scratch, name + ".stop")
        environment = self.environment(PYTHONPATH=os.path.join(harness.ROOT, "python"), **harness.RECORD_ALL, **settings,
                                       MEMTRACE_JOB=f"one;{self.out}")  # as if one process had started all
        process = subprocess.Popen([sys.executable, harness.program("growing_steps.py"), state, stop, str(growth), str(pause), str(pairs)],
                                   env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.scratch)
        self.addCleanup(self.end, process)
        process.state, process.stop = state, stop
        self.wait_for_step(process, 14)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.communicate()

    @staticmethod
    def state_of(process):
        try:
            with open(process.state, encoding="ascii") as file:
                return [int(word) for word in file.read().split()]
        except FileNotFoundError:
            return [0, -1]

    def wait_for_step(self, process, step):
        until = time.monotonic() + 60
        while self.state_of(process)[1] < step:
            self.assertIsNone(process.poll(), "the program ended")
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def finish(self, process):
        with open(process.stop, "w", encoding="ascii"):
            pass
        out, err = process.communicate(timeout=60)
        self.assertEqual((out, process.returncode), ("stopped\n", 0), err)

    def once(self, *words, **more):
        environment = harness.bare_environment(LC_ALL="C.UTF-8", COLUMNS="80", LINES="24", **more)
        return subprocess.run([harness.COMMAND, "top", *words], env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=120)

    def check_level(self, process, screen):
        """The level, its growth and the sum of its roles must be those of the program, which stands still."""
        kept, _ = self.state_of(process)
        live = size(re.search(r"host live ([\d.]+ \wiB)", screen)[1])
        self.assertGreaterEqual(live, (40 << 20) + kept - 0.01 * MIB)
        self.assertLess(live, (40 << 20) + kept + 30 * MIB)
        grows = size(re.search(r"\+([\d.]+ \wiB) a step", screen)[1])
        self.assertAlmostEqual(grows, GROWTH << 10, delta=0.02 * MIB)
        sums = re.findall(r"^(?!host|limit)[\w ()]+? +([\d.]+) +\d+(?:   |$)", screen.split("by role")[1].split("newest")[0], re.M)
        self.assertAlmostEqual(sum(map(float, sums)), live / MIB, delta=0.1, msg=screen)

    def freeze(self, process):
        """Stops the program, and waits until all of its threads stand still."""
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)


class Windows(TopCase):
    """A bound of 1 MiB: each window has about 100 KiB, so the program begins a new one every few seconds."""

    def windows(self):
        """Returns the inodes of the windows: the recorder makes each window as a new file."""
        found = set()
        for path in glob.glob(self.out + "/*.window-*"):
            with contextlib.suppress(FileNotFoundError):
                found.add(os.stat(path).st_ino)
        return found

    def rotate(self, count):
        """Waits until so many windows have begun."""
        seen, until = set(), time.monotonic() + 120
        while len(seen) < count:
            seen |= self.windows()
            self.assertLess(time.monotonic(), until, seen)
            time.sleep(0.02)

    def test_once_begins_with_a_window(self):
        process = self.start(pairs=2000, MEMTRACE_MAX_TRACE="1M")
        self.rotate(6)
        self.freeze(process)
        screen = self.once(self.out, "--once").stdout
        self.check_level(process, screen)
        begun = int(re.search(r"peak of steps ([\d,]+) to", screen)[1].replace(",", ""))
        self.assertGreater(begun, 0, "the chart begins where the windows do")

    @unittest.skipUnless(TMUX, "no tmux: scripts/setup installs it")
    def test_it_follows_from_window_to_window(self):
        process = self.start(pairs=2000, MEMTRACE_MAX_TRACE="1M")
        terminal = Terminal(self, columns=120, rows=40)
        terminal.line(f"LC_ALL=C.UTF-8 {harness.COMMAND} top {self.out} --interval 0.3")
        terminal.wait_for("q quit")
        self.rotate(8)
        self.freeze(process)
        _, step = self.state_of(process)
        terminal.wait_for(rf"step {step:,} in|step {step + 1:,} in")
        terminal.keys("r")
        time.sleep(1)
        self.check_level(process, terminal.screen())
        terminal.keys("q")
        terminal.wait_for(PROMPT)


class Once(TopCase):
    def test_figures_are_those_of_the_report(self):
        process = self.start()
        self.freeze(process)
        done = self.once(self.out, "--once")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        screen = done.stdout
        self.assertNotIn("\x1b", screen)
        lines = screen.splitlines()
        self.assertLessEqual(len(lines), 24)
        self.assertTrue(all(len(line) <= 80 for line in lines), screen)
        self.check_level(process, screen)
        step = int(re.search(r"   step (\d+) +peak", screen)[1])
        rows = {row["phase"]: row for row in self.only_process(self.report("--steps", f"{step}:{step}"))["phases"]
                if row["memory"] == "host" and row["step"] == step}
        for phase in ("forward", "update"):
            shown = re.search(rf"   {phase} +([\d.]+) +([+\d.-]+) +([\d.]+)$", screen, re.M)
            for figure, key in zip(shown.groups(), ("peak_live", "net", "transient")):
                self.assertAlmostEqual(float(figure), rows[phase][key] / MIB, delta=0.006, msg=(phase, key))
        peak = next(peak for peak in self.only_process(self.report())["peaks"]
                    if peak["memory"] == "host" and peak["measure"] == "live")
        self.assertAlmostEqual(size(re.search(r"([\d.]+ \wiB) at the top", screen)[1]), peak["bytes"], delta=0.006 * MIB)
        self.assertIn("growing_steps.py:", screen)

    def test_a_pid_names_its_trace(self):
        process = self.start()
        done = self.once(str(process.pid), "--once")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"pid {process.pid}", done.stdout)
        for words, said in (([str(os.getpid()), "--once"], "no trace of it"), (["999999999", "--once"], "no such process"),
                            ([self.out], "stdout is not a terminal; --once"), ([self.out, "--interval", "0"], "interval")):
            done = self.once(*words)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), words)
            self.assertIn(said, done.stderr)

    def test_traces_that_cannot_be_read(self):
        os.mkdir(self.out)
        for pid in (11, 12):
            with open(os.path.join(self.out, f"host-{pid}-18ec301a454cf546.memtrace"), "wb") as file:
                file.write(b"no trace" * 1000)
            done = self.once(self.out, "--once")
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn("expected a memtrace trace", done.stderr)

    def test_rows_of_a_job(self):
        first, second = self.start(), self.start(growth=64, name="other")
        screen = self.once(self.out, "--once").stdout
        for process in (first, second):
            self.assertRegex(screen, rf"(?m)^ +- +{process.pid}  (\w+)? +\d+ ")
        self.assertIn("of 2 processes", screen)

    def contents(self):
        out = {}
        for path in glob.glob(self.out + "/*"):
            with open(path, "rb") as file:
                out[path] = hashlib.sha256(file.read()).hexdigest()
        return out

    def test_it_only_reads(self):
        if STRACE is None:
            self.skipTest("no strace")
        process = self.start()
        self.freeze(process)
        before = self.contents()
        log = os.path.join(self.scratch, "strace")
        calls = ("open,openat,creat,kill,tkill,tgkill,ptrace,process_vm_readv,process_vm_writev,flock,unlink,unlinkat,rename,"
                 "renameat,mkdir,ftruncate,truncate,pwrite64,pidfd_send_signal,rt_sigqueueinfo,fcntl")
        done = subprocess.run([STRACE, "-f", "-e", "trace=" + calls, "-o", log, harness.COMMAND, "top", "--once", self.out],
                              env=harness.bare_environment(), capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file if not re.search(r"exited with|\+\+\+|---", line)]
        opened = [line for line in lines if re.search(r" (openat|open)\(", line)]
        self.assertTrue(any(".memtrace" in line for line in opened))
        for line in opened:
            self.assertNotRegex(line, "O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
        others = [line for line in lines if line not in opened and not re.search(r"fcntl\(\d+, F_(GETFL|GETFD|SETFD|DUPFD)", line)]
        self.assertEqual(others, [])
        self.assertEqual(self.contents(), before)
        process.send_signal(signal.SIGCONT)
        self.finish(process)


@unittest.skipUnless(TMUX, "no tmux: scripts/setup installs it")
class InATerminal(TopCase):
    def top(self, *words, **variables):
        settings = " ".join(f"{name}={value}" for name, value in {"LC_ALL": "C.UTF-8", **variables}.items())
        return f"{settings} {harness.COMMAND} top {' '.join(words)}"

    @staticmethod
    def without_times(screen):
        """Returns the screen without the age of the program and of allocations, and without the keys."""
        ages = re.compile(r"(?m)^(.*  )[\d hmins.]+s$|(?<=[\d.] MiB)( +)[\d.]+ (?:ms|s|min.*?s)(?=  )")
        text = "\n".join(line.rstrip() for line in screen.split("\n") if "q quit" not in line).strip()
        return ages.sub(r"\1\2", text)

    def pid_of_top(self):
        pids = subprocess.run(["pgrep", "-f", f"memtrace top {self.out}"], capture_output=True, text=True, check=False)
        return int(pids.stdout.split()[-1])

    def test_keys_and_resize(self):
        first, second = self.start(), self.start(name="other")
        terminal = Terminal(self)
        terminal.line(self.top(self.out, "--interval", "0.3"))
        screen = terminal.wait_for(r"q quit")
        low, high = sorted((first.pid, second.pid))
        self.assertIn(f"pid {low} of 2 processes", screen)
        terminal.keys("Down")
        terminal.wait_for(rf"pid {high} of 2 processes")
        terminal.keys("k")
        terminal.wait_for(rf"pid {low} of 2 processes")
        terminal.keys("?")
        terminal.wait_for("share of a limit")
        terminal.keys("x")
        terminal.wait_for(r"step [\d,]+ in")  # the program may still be before its first step
        terminal.keys("p")
        terminal.wait_for("paused")
        before = re.search(r"step ([\d,]+) in", terminal.screen())[1]
        time.sleep(1)
        self.assertEqual(re.search(r"step ([\d,]+) in", terminal.screen())[1], before)
        terminal.keys("p")
        terminal.wait_for(rf"step (?!{before} )[\d,]+ in")
        terminal.tmux("resize-window", "-x", "40", "-y", "30")
        narrow = terminal.wait_for(r"(?m)^limit +%")
        self.assertLess(narrow.index("by role"), re.search(r"(?m)^step \d+ +peak", narrow).start())
        terminal.tmux("resize-window", "-x", "100", "-y", "30")
        terminal.wait_for(r"(?m)^limit +used +of")
        terminal.keys("q")
        terminal.wait_for(PROMPT)
        self.finish(first)
        self.finish(second)

    def test_the_screen_is_that_of_once(self):
        process = self.start()
        self.freeze(process)
        terminal = Terminal(self, rows=25)  # the last line has the keys
        terminal.line(self.top(self.out))
        screen = terminal.wait_for("q quit")
        once = self.once(self.out, "--once").stdout
        self.assertEqual(self.without_times(screen), self.without_times(once))

    def test_the_terminal_is_as_before(self):
        self.start()
        terminal = Terminal(self)
        terminal.line("stty -g > a; echo ready")
        terminal.wait_for("(?m)^ready")
        for way in ("q", "TERM", "INT"):
            terminal.line("clear; echo before; " + self.top(self.out))
            terminal.wait_for("q quit")
            if way == "q":
                terminal.keys("q")
            elif way == "INT":
                terminal.keys("C-c")
            else:
                os.kill(self.pid_of_top(), signal.SIGTERM)
            terminal.wait_for(PROMPT)
            terminal.line("stty -g > b; cmp a b && echo same")
            screen = terminal.wait_for("(?m)^same")
            self.assertRegex(screen, "(?m)^before")
            self.assertNotIn("q quit", screen)

    def test_an_end_is_shown_until_q(self):
        process = self.start()
        terminal = Terminal(self)
        terminal.line(self.top(str(process.pid), "--interval", "0.3"))
        terminal.wait_for("q quit")
        self.finish(process)
        screen = terminal.wait_for("exited with 0")
        self.assertIn("q quit", screen)
        terminal.keys("q")
        terminal.wait_for(PROMPT)

    def test_a_terminal_that_cannot(self):
        self.start()
        terminal = Terminal(self)
        terminal.line(self.top(self.out, TERM="dumb") + "; echo status $?")
        screen = terminal.wait_for("status 2")
        self.assertIn("--once prints one screen", screen)

    def test_stopped_and_continued(self):
        """Ctrl-Z gives the terminal back to the shell, and `fg` draws the whole screen again."""
        process = self.start()
        self.freeze(process)
        terminal = Terminal(self)
        terminal.line("stty -g > a; echo ready")
        terminal.wait_for("(?m)^ready")
        terminal.line("clear; echo before; " + self.top(self.out))
        drawn = terminal.wait_for("q quit")
        for way in ("Ctrl-Z", "TSTP"):
            if way == "TSTP":
                os.kill(self.pid_of_top(), signal.SIGTSTP)
            else:
                terminal.keys("C-z")
            terminal.wait_for(r"(?m)^.*(Stopped|Suspended).*\n(.*\n)*?\$\s*\Z")
            terminal.line("stty -g > b; cmp a b && echo same; echo $((6 * 7))")
            screen = terminal.wait_for("(?m)^42")
            self.assertRegex(screen, "(?m)^same")
            self.assertNotIn("q quit", screen)
            terminal.line("fg")
            again = terminal.wait_for("q quit")
            self.assertEqual(self.without_times(again), self.without_times(drawn), way)
            terminal.keys("?")
            terminal.wait_for("share of a limit")
            terminal.keys("x")
            terminal.wait_for("by role")
        terminal.keys("q")
        terminal.wait_for(PROMPT)
        terminal.line("stty -g > b; cmp a b && echo same")
        terminal.wait_for("(?m)^same")

    def test_a_build_without_ncurses(self):
        """It says so at once, and --once is that of the other build."""
        process = self.start()
        self.freeze(process)
        command = os.path.join(harness.BUILD, "tests", "end_to_end", "memtrace_without_ncurses")
        terminal = Terminal(self)
        terminal.line(f"{command} top {self.out}; echo status $?")
        screen = terminal.wait_for("status 2")
        self.assertIn("top: this build of memtrace has no ncurses; --once prints one screen", screen.replace("\n", ""))
        screens = [subprocess.run([which, "top", self.out, "--once"], capture_output=True, text=True, check=True, timeout=120,
                                  env=harness.bare_environment(LC_ALL="C.UTF-8")).stdout
                   for which in (command, harness.COMMAND)]
        self.assertIn("by role", screens[0])
        self.assertEqual(*map(self.without_times, screens))

    @harness.only_in_long
    def test_cpu(self):
        """Its own CPU in 30 s, from the clock of the kernel: no wall time decides."""
        process = self.start(pause=0.02)
        terminal = Terminal(self)
        terminal.line(self.top(str(process.pid)))
        terminal.wait_for("q quit")
        pids = subprocess.run(["pgrep", "-f", f"memtrace top {process.pid}"], capture_output=True, text=True, check=False)
        pid = int(pids.stdout.split()[-1])
        ticks = os.sysconf("SC_CLK_TCK")

        def used():
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / ticks

        before = used()
        time.sleep(30)
        cpu = used() - before
        print(f"{cpu:.2f} s of CPU in 30 s", flush=True)
        self.assertLess(cpu, 0.02 * 30)


if __name__ == "__main__":
    unittest.main()
