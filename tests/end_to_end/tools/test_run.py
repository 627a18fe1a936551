"""Purpose: tests that `memtrace run` does not affect the command, and sees from outside how processes end."""
import glob
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import cgroup
import harness

MIB = harness.MIB


def others_are_seen():
    """True if the kernel reports the ends of other processes than children, from 6.15 on."""
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 15)


class Run(harness.Case):
    def command(self, *command, options=()):
        return [harness.COMMAND, "run", "-o", self.out, *options, "--", *command]

    def settings(self, **more):
        return harness.bare_environment(**{"MEMTRACE_SKIP": "", **more})

    def run_it(self, *command, options=(), settings=None, **more):
        return self.run_in("traced", self.command(*command, options=options), self.settings(**(settings or {})), **more)

    def ends(self):
        """Returns the ends of all files, by pid: how, code, seen, and whether that trace exists."""
        out = {}
        for path in glob.glob(os.path.join(self.out, "*.ends")):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    end = json.loads(line)
                    self.assertEqual(end["schema"], "memtrace.ends/1")
                    there = os.path.exists(os.path.join(self.out, end.get("trace", "-") + ".memtrace"))
                    self.assertEqual(there, "trace" in end)
                    self.assertNotIn(end["pid"], out)
                    out[end["pid"]] = (end["how"], end["code"], end["seen"], there)
        return out


class Status(Run):
    def test_stdout_status_and_stdin_are_the_commands(self):
        for code in (0, 3, 255):
            done = self.run_it(sys.executable, "-c", f"import sys; print(sys.stdin.read()); sys.exit({code})",
                               stdin=None, input=b"from outside", options=["--quiet"])
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, b"from outside\n", b""))
        self.assertFalse(os.path.exists(self.out), "a small process leaves nothing, and so does who watches it")

    def test_signals_are_128_and_more(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT):
            done = self.run_it("bash", "-c", f"kill -{int(number)} $$")
            self.assertEqual((done.returncode, done.stdout), (128 + number, b""))

    def test_what_cannot_be_started(self):
        done = self.run_it(os.path.join(self.scratch, "nowhere"))
        self.assertEqual(done.returncode, 127)
        self.assertRegex(done.stderr, rb"^memtrace: run: .*nowhere: No such file or directory; nothing was started\n$")
        self.assertEqual(self.run_it("/").returncode, 126)

    def test_a_killed_process_that_was_not_short_of_memory(self):
        """`kill -9` from outside: the cause is unknown, so no explanation is printed, but the status is kept.
        """
        code = "import os, signal; held = bytearray(b'x' * (50 << 20)); os.kill(os.getpid(), signal.SIGKILL)"
        done = self.run_it(sys.executable, "-c", code)
        self.assertEqual(done.returncode, 137)
        self.assertEqual(done.stderr, f"memtrace: recording to {self.out}\n".encode())
        self.assertEqual([end[:3] for end in self.ends().values()], [("signal", 9, "wait")])
        end = self.only_process(self.report())["end"]
        self.assertEqual((end["how"], end["code"]), ("unknown", 9))
        self.assertIn("memtrace run: wait status: signal 9 (SIGKILL)", end["evidence"])

    def test_a_crash_is_what_it_was(self):
        code = "import os, signal; held = bytearray(b'x' * (50 << 20)); os.kill(os.getpid(), signal.SIGSEGV)"
        self.assertEqual(self.run_it(sys.executable, "-c", code).returncode, 139)
        end = self.only_process(self.report())["end"]
        self.assertEqual((end["how"], end["code"]), ("signal", 11))


class Signals(Run):
    def start(self, **more):
        process = subprocess.Popen(self.command(sys.executable, harness.program("signals.py")), env=self.settings(),
                                   stdout=subprocess.PIPE, **more)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_passed_on(self):
        """The signal is sent to the watcher alone, as a supervisor does."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            with self.start(start_new_session=True) as process:
                process.send_signal(number)
                self.assertEqual(process.stdout.read().decode(), f"{number.name}\n")
            self.assertEqual(process.returncode, 1)

    def test_a_terminals_come_once(self):
        """^C goes to all processes in the foreground: the command already has it."""
        master, slave = pty.openpty()

        def own_terminal():
            os.setsid()
            os.close(os.open(os.ttyname(0), os.O_RDWR))  # it becomes the session's terminal

        with self.start(stdin=slave, preexec_fn=own_terminal) as process:
            os.write(master, b"\x03")
            self.assertEqual(process.stdout.read().decode(), "SIGINT\n")
        self.assertEqual(process.returncode, 1)
        os.close(master)
        os.close(slave)

    def test_ignored_stays_ignored(self):
        """nohup: a signal that is ignored from the start stays ignored in the command."""
        with subprocess.Popen(self.command(sys.executable, "-c", "import signal, time\n"
                                           "print(signal.getsignal(signal.SIGHUP), flush=True)\ntime.sleep(0.3)"),
                              env=self.settings(), stdout=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as process:
            self.assertEqual(process.stdout.readline(), f"{signal.SIG_IGN!s}\n".encode())
            process.send_signal(signal.SIGHUP)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)


class Families(Run):
    def test_bash(self):
        """The shell leaves no trace, its child does: both ends are recorded."""
        # It stays for a while after its trace exists: the watcher searches for new traces some times a second.
        code = "import time; held = bytearray(b'x' * (50 << 20)); time.sleep(0.5); raise SystemExit(5)"
        done = self.run_it("bash", "-c", f'"$0" -c "{code}"; exit 3', sys.executable,
                           settings={"MEMTRACE_SKIP": "bash"})
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.only_process(self.report())["end"]["code"], 5)
        expected = [("exit", 3, "wait", False)]
        if others_are_seen():
            expected.insert(0, ("exit", 5, "pidfd", True))
        self.assertEqual(sorted(self.ends().values(), reverse=True), sorted(expected, reverse=True))

    def test_exec(self):
        """One process runs two programs: the end is that of the last."""
        again = "held = bytearray(b'y' * (60 << 20)); raise SystemExit(6)"
        code = f"import os, sys; held = bytearray(b'x' * (50 << 20)); os.execv(sys.executable, ['python', '-c', {again!r}])"
        done = self.run_it(sys.executable, "-c", code)
        self.assertEqual(done.returncode, 6)
        report = self.report()
        self.assertEqual(sorted(process["end"]["how"] for process in report["processes"]), ["exec", "exit"])
        self.assertEqual(len({process["pid"] for process in report["processes"]}), 1)
        self.assertEqual(list(self.ends().values()), [("exit", 6, "wait", True)])
        with open(glob.glob(os.path.join(self.out, "*.ends"))[0], encoding="utf-8") as file:
            stem = json.loads(file.read())["trace"]
        self.assertEqual(stem, max(os.path.basename(path) for path in self.trace_files()).removesuffix(".memtrace"))

    def daemon(self, name, run):
        said = os.path.join(self.scratch, name + ".says")
        done = run(sys.executable, harness.program("daemon.py"), said)
        self.assertEqual(done.returncode, 7)
        self.assertFalse(os.path.exists(said), "nobody waits for a daemon")
        with open(said + ".go", "w", encoding="utf-8"):
            pass
        until = time.monotonic() + 60
        while not os.path.exists(said):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        with open(said, encoding="utf-8") as file:
            return file.read()

    def test_daemon(self):
        """The daemon has its normal parent, and its trace is complete though the watcher has ended."""
        bare = self.daemon("bare", lambda *command: self.bare(list(command), stdout=subprocess.DEVNULL,
                                                              stderr=subprocess.DEVNULL))
        traced = self.daemon("traced", lambda *command: self.run_it(*command, stdout=subprocess.DEVNULL,
                                                                    stderr=subprocess.DEVNULL))
        self.assertEqual(traced, bare)
        until = time.monotonic() + 60
        while self.ring_files() and time.monotonic() < until:
            time.sleep(0.01)
        process = self.only_process(self.report())
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))
        self.assert_nothing_lost(process)

    def test_a_child_of_a_program_that_is_left_out(self):
        """Truth: the pids that the programs print. A compiler driver starts its assembler, and leaves no trace."""
        inner = "import os; print(os.getpid())"
        outer = f"import os, subprocess; print(os.getpid(), flush=True); subprocess.run(['sh', '-c', '{sys.executable} -c \"{inner}\"; :'])"
        done = self.run_in("traced", self.command(sys.executable, "-c", outer, options=["--min-peak", "0", "--quiet"]),
                           harness.bare_environment())
        parent, child = map(int, done.stdout.split())
        kinds = {process["pid"]: process["kind"] for process in self.report()["processes"]}
        self.assertEqual(kinds, {parent: "main", child: "child"})
        done = self.run_in("traced", self.command("sh", "-c", f"{sys.executable} -c '{inner}'; :",
                                                  options=["--min-peak", "0", "--quiet"]), harness.bare_environment())
        kinds = {process["pid"]: process["kind"] for process in self.report()["processes"]}
        self.assertEqual(kinds[int(done.stdout)], "main", "the shell at the top leaves no trace, so nothing is above")

    def ranks(self, *arguments):
        python = harness.torch_python()
        return self.run_it(python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                           harness.program("ranks.py"), *arguments, settings={"OMP_NUM_THREADS": "1"}, timeout=240)

    LEADING = ("import os, signal, sys, time; own, childs, pause = [int(word) for word in sys.argv[1:]];"
               "held = bytearray(b'x' * (own << 20)); pid = os.fork();"
               "more = None if pid else bytearray(b'x' * (childs << 20));"
               "print(os.getpid(), pid, flush=True) if pid else (time.sleep(pause), os.kill(os.getpid(), signal.SIGKILL));"
               "os.waitpid(pid, 0)")

    def leading(self, *sizes):
        """Returns the pids of the main process and of its child, and that of the process that the report leads with."""
        self.new_scratch()
        done = self.run_it(sys.executable, "-c", self.LEADING, *map(str, sizes), options=["--quiet"])
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report()
        self.assertEqual(len(report["processes"]), 2)
        return (*[int(word) for word in done.stdout.split()], report["processes"][0]["pid"])

    def test_the_process_with_the_highest_peak_of_its_own_leads(self):
        """A quick child dies before a sample of its RSS. A child that lives has the pages of its parent in its RSS."""
        _, child, leads = self.leading(60, 200, 0)
        self.assertEqual(leads, child)
        main, _, leads = self.leading(200, 60, 1)
        self.assertEqual(leads, main)

    def test_torchrun(self):
        done = self.ranks()
        self.assertEqual((done.returncode, done.stdout), (0, b"trained on 2\n"), done.stderr)
        processes = self.report()["processes"]
        self.assertEqual(sorted(process["rank"] for process in processes if process["kind"] == "rank"), [0, 1])
        for process in processes:
            self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))
            self.assert_nothing_lost(process)
        if others_are_seen():
            ends = self.ends()
            for process in processes:
                self.assertEqual(ends[process["pid"]][:2], ("exit", 0))
        self.assertNotIn(b"Killed", done.stderr)

    def test_torchrun_with_a_rank_that_is_killed(self):
        done = self.ranks("1")
        self.assertEqual(done.returncode, 1)
        processes = {process["rank"]: process for process in self.report()["processes"] if process["kind"] == "rank"}
        self.assertEqual(sorted(processes), [0, 1])
        if others_are_seen():
            self.assertEqual(self.ends()[processes[1]["pid"]][:3], ("signal", 9, "pidfd"))
            self.assertEqual((processes[1]["end"]["how"], processes[1]["end"]["code"]), ("unknown", 9))
        self.assertNotIn(b"Killed for memory", done.stderr, "nobody says why")


class NothingRecorded(Run):
    """Tests the line that says why no process left a trace."""

    def why(self, *command, options=(), **settings):
        done = self.run_in("traced", self.command(*command, options=options), harness.bare_environment(**settings))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode()

    def copy(self, name, **rights):
        path = os.path.join(self.scratch, name)
        shutil.copy("/bin/true", path)
        if rights:
            os.chown(path, rights["owner"], -1)
            os.chmod(path, rights["mode"])
        return path

    def test_a_small_process(self):
        small = "memtrace: run: nothing was recorded: a process leaves a trace only if it holds 32.00 MiB at once; "
        self.assertTrue(self.why("/bin/true").startswith(small))
        self.assertIn("holds 1024.00 MiB at once", self.why("/bin/true", options=["--min-peak", "1G"]))
        self.assertEqual(self.why("/bin/true", options=["--min-peak", "0"]), f"memtrace: recording to {self.out}\n")
        self.assertEqual(self.why("/bin/true", options=["--quiet"]), "")

    def test_a_name_that_is_left_out(self):
        self.assertIn("leaves out x86_64-linux-gnu-as, and any other process", self.why(self.copy("x86_64-linux-gnu-as")))
        self.assertIn("leaves out true, and", self.why("/bin/true", options=["--only", "python*"]))
        self.assertTrue(self.why("/bin/true", options=["--only", "python*", "--min-peak", "0"]).endswith("leaves out true\n"))
        self.assertTrue(self.why("/bin/true", MEMTRACE="0").endswith(": MEMTRACE=0 switches memtrace off\n"))

    def test_a_static_program(self):
        source = os.path.join(self.scratch, "program.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }")
        program = os.path.join(self.scratch, "program")
        built = subprocess.run(["cc", "-static", "-o", program, source], capture_output=True, text=True, check=False)
        if built.returncode != 0:
            self.skipTest(f"no static program can be built here: {built.stderr.strip().splitlines()[-1]}")
        self.assertIn("program is statically linked", self.why(program))

    def test_a_program_with_more_rights(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of another user")
        self.assertIn("starts with the rights of its file", self.why(self.copy("program", owner=65534, mode=0o4755)))


class ForMemory(Run):
    """Tests a limit of the kernel."""

    def glutton(self, *options, limit=200, more=()):
        page = os.path.join(self.scratch, "page")
        with open(page, "wb") as file:
            file.write(bytes(4096))
        with cgroup.Group("run", limit * MIB) as group:
            done = self.run_it(harness.victim("glutton"), page, *options, options=more, preexec_fn=group.enter)
            self.assertEqual(group.kills(), 1)
        return done

    def test_explained_on_stderr(self):
        done = self.glutton()
        self.assertEqual((done.returncode, done.stdout), (137, b""))
        lines = done.stderr.decode().splitlines()
        self.assertEqual(lines[0], f"memtrace: recording to {self.out}")
        self.assertTrue(lines[1].startswith("Killed for memory"), lines[1])
        self.assertIn("200.00 MiB", done.stderr.decode())
        process = self.only_process(self.report())
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("oom_kill", 9))

    def test_quiet(self):
        done = self.glutton(more=["--quiet"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (137, b"", b""))
        self.assertEqual(len(self.trace_files()), 1)

    def test_a_worker_while_the_main_process_lives(self):
        done = self.glutton("--worker")
        self.assertEqual(done.returncode, 0, "the command's own")
        self.assertRegex(done.stdout, rb"^worker \d+ signal 9\n$")
        pid = int(done.stdout.split()[1])
        if not others_are_seen():
            self.skipTest("a kernel before 6.15 does not say how the processes of others ended")
        self.assertEqual(self.ends()[pid], ("signal", 9, "pidfd", True))
        self.assertIn("Killed for memory", done.stderr.decode())
        ends = {process["pid"]: process["end"] for process in self.report()["processes"]}
        self.assertEqual(ends[pid]["how"], "oom_kill")
        self.assertEqual({end["how"] for other, end in ends.items() if other != pid}, {"exit"})


if __name__ == "__main__":
    unittest.main()
