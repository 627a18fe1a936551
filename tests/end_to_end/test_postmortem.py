"""Job: processes that the kernel killed for memory are explained, and no other end is called that.

Truth: the kernel's log, PyTorch's own figures (shared/workloads/README.md), and what the program does, by hand.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import cgroup
import harness

TENSOR = 25 * harness.MIB
HALF = TENSOR // 2


class Case(harness.Case):
    def group(self, limit=None, below=None, name="memtrace-test"):
        group = cgroup.Group(name, limit, below)
        self.addCleanup(group.remove)
        return group

    def postmortem_text(self, *options, path=None, status=0):
        done = subprocess.run([harness.COMMAND, "postmortem", path or self.out, *options],
                              env=harness.bare_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        text = done.stdout.decode(errors="replace")
        if "json" not in options:
            self.assertLessEqual(max([len(line) for line in text.splitlines()], default=0), 100, text)
        return text

    def postmortem(self, *options, path=None):
        document = json.loads(self.postmortem_text("--format", "json", *options, path=path))
        self.assertEqual(document["schema"], "memtrace.postmortem/1")
        return document

    def findings(self, process):
        return {finding["id"]: finding for finding in process["findings"]}

    def held(self, process, role):
        return sum(row["bytes"] for row in process["death"]["held_tensor"] if row["role"] == role)


def lines_of(site):
    return [f"{os.path.basename(frame['file'])}:{frame['line']}" for frame in site["frames"] if frame["lang"] == "python"]


class CpuOom(Case):
    """cpu_oom.py: 24 tensors of 12.5 MiB, built, loaded, and converted to 25 MiB each, one after the other."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="memtrace-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.checkpoint = os.path.join(cls.folder, "ckpt_bf16.pt")
        subprocess.run([harness.torch_python(), harness.workload("cpu_oom.py"), "--file", cls.checkpoint, "--make"],
                       env=harness.bare_environment(), check=True, capture_output=True)

    def command(self, *options):
        return [harness.torch_python(), harness.workload("cpu_oom.py"), "--file", self.checkpoint, *options]

    def line_of(self, code):
        with open(harness.workload("cpu_oom.py"), encoding="utf-8") as file:
            return next(f"cpu_oom.py:{number}" for number, line in enumerate(file, 1) if code in line)

    def kill_at(self, limit):
        """Run it in a group of its own until the kernel ends it; the group, and its line in the kernel's log."""
        group = self.group(limit)
        done = self.run_in("traced", group.inside(self.command("--log")), self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr.decode(errors="replace"))
        self.assertEqual(group.kills(), 1)
        self.log = done.stderr.decode(errors="replace")
        self.said = done.stdout.decode(errors="replace")
        return group, cgroup.last_kill(group.path)

    def assert_explained(self, limit, group, kill):
        process = self.only_process(self.postmortem())
        self.assert_nothing_lost(process)
        self.assertEqual(process["end"]["how"], "oom_kill")
        line, pid = kill
        self.assertEqual(process["pid"], pid)
        evidence = "\n".join(process["end"]["evidence"])
        self.assertIn(line.partition("Killed process")[2].strip(), evidence)
        self.assertIn("CONSTRAINT_MEMCG", evidence)
        self.assertIn(group.path, evidence)
        death = process["death"]
        self.assertEqual(death["phase"], "load")
        self.assertEqual(death["limit"], int(limit[:-1]) * harness.MIB)
        self.assertEqual(death["rss"]["anon"] // 1024, int(re.search(r"anon-rss:(\d+)kB", line)[1]))
        found = self.findings(process)
        self.assertEqual(found["oom-kill"]["confidence"], "certain")
        self.assertIn("assign=True", found["second-copy-on-load"]["remedy"])
        return process

    def converted(self):
        """How many tensors the program says that it began to convert."""
        return self.log.count("to fp32 tensor")

    def assert_tensors(self, process, line):
        """Live tensor bytes are those of the program's own log, and of the kernel's figures."""
        live, begun = process["death"]["tensor"], self.converted()
        if begun:  # the state dict, what is converted, what is not yet, and the one that is being filled
            truth = 24 * HALF + (begun - 1) * TENSOR + (24 - begun + 1) * HALF + TENSOR
        else:  # the model, and what has become resident since
            at_kill = int(re.search(r"anon-rss:(\d+)kB", line)[1]) * 1024
            init = float(re.search(r"init +anon +([0-9.]+)", self.said)[1]) * harness.MIB
            truth = 24 * HALF + at_kill - init
        self.assertLessEqual(abs(live - truth), TENSOR, f"{live / harness.MIB} live, {truth / harness.MIB} measured")

    def assert_killed_while_filling(self, process):
        filling = process["death"]["filling"]
        sites = lines_of(filling["site"])
        if self.converted():
            self.assertEqual(filling["bytes"] // harness.MIB, 25)
            self.assertIn(self.line_of("t.to(torch.float32)"), sites)
        else:
            self.assertEqual(filling["bytes"] * 2 // harness.MIB, 25)
            self.assertIn(self.line_of("torch.load(args.file)"), sites)
        if filling["touched"] is not None:
            self.assertLessEqual(filling["touched"], filling["bytes"])

    def test_limits(self):
        for limit in ("900M", "600M", "500M", "700M", "800M", "850M", "1000M"):
            with self.subTest(limit=limit):
                shutil.rmtree(self.out, ignore_errors=True)
                group, kill = self.kill_at(limit)
                process = self.assert_explained(limit, group, kill)
                self.assert_tensors(process, kill[0])
                state = self.held(process, "staging")
                self.assertEqual(state, 24 * HALF if self.converted() else process["death"]["tensor"] - 24 * HALF)
                self.assertEqual(self.held(process, "parameter"), process["death"]["tensor"] - state)
                self.assert_killed_while_filling(process)
                text = self.postmortem_text()
                self.assertTrue(text.startswith("Killed for memory (certain) in load: a state dict"), text)
                self.assertIn("events lost: 0" if "events lost" in text else "lost: 0", text)
                self.assertEqual(text, self.postmortem_text(), "the second reading says something else")

    def test_while_the_model_is_built(self):
        """There is no second copy yet, so nothing is said of one."""
        _, kill = self.kill_at("400M")
        process = self.only_process(self.postmortem())
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertEqual(list(self.findings(process)), ["oom-kill"])
        self.assertIn(self.line_of("torch.nn.Linear("), lines_of(process["death"]["filling"]["site"]))
        self.assertIsNotNone(kill)

    def test_fixed(self):
        group = self.group("900M")
        done = self.run_in("traced", group.inside(self.command("--fixed")), self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, 0)
        process = self.only_process(self.postmortem())
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))
        self.assertIsNone(process["death"])
        self.assertEqual(process["findings"], [])
        self.assertEqual(glob.glob(os.path.join(self.out, "*.evidence")), [])

    def test_the_recorder_does_not_bring_the_kill_a_tensor_forward(self):
        """Bytes of tensors that the program could have before it was killed, without memtrace and with it."""
        held = []
        for environment in (harness.bare_environment(), self.environment(MEMTRACE_QUIET="1")):
            group = self.group("900M")
            done = self.run_in("traced", group.inside(self.command("--log")), environment)
            self.assertEqual(done.returncode, -signal.SIGKILL)
            begun = done.stderr.count(b"to fp32 tensor")
            held.append((begun - 1) * TENSOR + (24 - begun + 1) * HALF + TENSOR)
        self.assertLess(held[0] - held[1], TENSOR)


class Ends(Case):
    """Ends of other kinds, in a cgroup that has room, or hardly any."""
    MEMORY = ("oom-kill", "allocation-failed", "second-copy-on-load", "shm-full", "cuda-oom")

    def end(self, *arguments, limit="4096M", prefix=(), status=None):
        group = self.group(limit)
        command = [*prefix, "python3", harness.program("ending.py"), *arguments]
        done = self.run_in("traced", group.inside(command), self.environment(MEMTRACE_QUIET="1"))
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        self.kills = group.kills()
        return self.only_process(self.postmortem())

    def assert_not_for_memory(self, process):
        self.assertNotEqual(process["end"]["how"], "oom_kill")
        self.assertEqual([one for one in self.findings(process) if one in self.MEMORY], [])
        self.assertNotIn("Killed for memory", self.postmortem_text())

    def test_segfault(self):
        process = self.end("segfault", status=-signal.SIGSEGV)
        self.assert_not_for_memory(process)
        if cgroup.dmesg() and f"python3[{process['pid']}]: segfault" in cgroup.dmesg():
            self.assertEqual((process["end"]["how"], process["end"]["code"]), ("signal", signal.SIGSEGV))

    def test_exit_at_once(self):
        process = self.end("_exit", status=3)
        self.assert_not_for_memory(process)
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 3))

    def test_abort(self):
        process = self.end("abort", status=-signal.SIGABRT)
        self.assert_not_for_memory(process)
        self.assertEqual(process["end"]["how"], "unknown")

    def test_sigkill_in_a_group_at_its_limit(self):
        """Close to the limit, and yet it was not that: the kernel has nothing of it in its log."""
        process = self.end("kill", limit="130M", status=-signal.SIGKILL)
        self.assertEqual(self.kills, 0)
        self.assert_not_for_memory(process)
        self.assertEqual(process["end"]["how"], "unknown")
        self.assertIn("cause unknown", self.postmortem_text().splitlines()[0])

    def test_sigkill_beside_a_kill_of_another_process(self):
        """Its group has counted a kill since: the log says that it was another process."""
        group = self.group("300M")
        with subprocess.Popen(group.inside(["python3", harness.program("ending.py"), "wait"]),
                              env=self.environment(MEMTRACE_QUIET="1"), stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            other = subprocess.run(group.inside(["python3", "-c", "b = b'x' * (400 << 20)"]), check=False,
                                   env=harness.bare_environment())
            self.assertEqual(other.returncode, -signal.SIGKILL)
            process.kill()
        self.assertEqual(group.kills(), 1)
        process = self.only_process(self.postmortem())
        self.assert_not_for_memory(process)
        self.assertEqual(process["end"]["how"], "unknown")

    def test_memory_error(self):
        process = self.end("MemoryError", "1024", status=1)
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 1))
        self.assertEqual([one for one in self.findings(process) if one in self.MEMORY], ["allocation-failed"])
        self.assertEqual(process["findings"][0]["bytes"] // harness.MIB, 64)
        self.assertEqual((process["death"]["limit"], process["death"]["limit_of"]), (1024 * harness.MIB, "RLIMIT_AS"))
        self.assertIn("ending.py", str(lines_of(process["findings"][0]["site"])))
        self.assertIn("RLIMIT_AS", self.postmortem_text().splitlines()[0])

    def test_bad_alloc(self):
        """Nobody catches it: the process aborts, of which there is no word but that an allocation had failed."""
        group = self.group("4096M")
        done = self.run_in("traced", group.inside([harness.victim("bad_alloc")]),
                           self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
        process = self.only_process(self.postmortem())
        self.assertEqual(process["end"]["how"], "unknown")
        self.assertEqual([one for one in self.findings(process) if one in self.MEMORY], ["allocation-failed"])
        self.assertEqual(process["findings"][0]["bytes"], 32 * harness.MIB)
        self.assertEqual(process["death"]["limit_of"], "RLIMIT_AS")

    def test_a_full_shm(self):
        """A small /dev/shm in a mount namespace of its own; the write that finds no room ends in SIGBUS."""
        inner = ["sh", "-c", "mount -t tmpfs -o size=64m none /dev/shm && exec \"$@\"", "sh"]
        process = self.end("shm", "128", prefix=("unshare", "-m", *inner), status=-signal.SIGBUS)
        self.assertNotEqual(process["end"]["how"], "oom_kill")
        self.assertEqual([one for one in self.findings(process) if one in self.MEMORY], ["shm-full"])
        self.assertEqual(process["findings"][0]["bytes"], 128 * harness.MIB)

    def test_killed_as_soon_as_it_records(self):
        """Some 60 MiB after recording began: at most a sample or two were taken."""
        command = "b = b'x' * (40 << 20)\nc = b'y' * (400 << 20)"
        group = self.group("100M")
        done = self.run_in("traced", group.inside(["python3", "-c", command]), self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGKILL)
        process = self.only_process(self.postmortem())
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertEqual(process["death"]["limit"], 100 * harness.MIB)
        self.assertEqual(process["death"]["filling"]["bytes"] // harness.MIB, 400)
        self.assert_nothing_lost(process)

    def test_killed_by_an_ancestor(self):
        outer = self.group("200M")
        inner = self.group("1024M", below=outer)
        done = self.run_in("traced", inner.inside(["python3", harness.program("ending.py"), "at once", "300"]),
                           self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGKILL)
        process = self.only_process(self.postmortem())
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertEqual(process["death"]["limit"], 200 * harness.MIB)
        self.assertTrue(process["death"]["limit_of"].endswith(outer.path), process["death"]["limit_of"])
        self.assertIn("above its own", "\n".join(process["end"]["evidence"]))

    def test_killed_in_a_pid_namespace(self):
        """The log's pid is another one: time, cgroup and size say that it is this process."""
        process = self.end("at once", "300", limit="200M", prefix=("unshare", "-p", "-f", "--kill-child"))
        self.assertEqual(self.kills, 1)
        self.assertLess(process["pid"], 10)
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertEqual(self.findings(process)["oom-kill"]["confidence"], "certain")


class Family(Case):
    def run_family(self, *arguments, group):
        done = self.run_in("traced", group.inside(["python3", harness.program("family.py"), *arguments]),
                           self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        _, pid, status = done.stdout.split()
        self.assertEqual(int(status), -signal.SIGKILL)
        return int(pid)

    def assert_only_one(self, pid, processes=4):
        report = self.postmortem()
        ends = {process["pid"]: process["end"]["how"] for process in report["processes"]}
        self.assertEqual(len(ends), processes)
        self.assertEqual([one for one in ends if ends[one] == "oom_kill"], [pid])
        self.assertEqual({how for one, how in ends.items() if one != pid}, {"exit"})
        text = self.postmortem_text()
        self.assertTrue(text.startswith("Killed for memory (certain)"), text)
        self.assertIn(f"pid {pid} ", text.splitlines()[1] + text.splitlines()[2])
        self.assertIn("no process of the job died earlier", text)

    def test_a_child_in_a_group_of_its_own(self):
        outer = self.group()
        inner = self.group("128M", below=outer)
        self.assert_only_one(self.run_family("3", "1", "400", "--enter", inner.directory, group=outer))

    def test_a_child_in_the_group_of_all(self):
        self.assert_only_one(self.run_family("3", "1", "900", group=self.group("512M")))


    def test_a_worker_of_a_loader(self):
        """PyTorch tells the main process that a worker was killed, and not why; that one gives up."""
        group = self.group("1200M")
        done = self.run_in("traced", group.inside([harness.torch_python(), harness.program("loader.py")]),
                           self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, 1)
        pid = re.search(rb"DataLoader worker \(pid(?:\(s\))? (\d+)\)", done.stderr)
        self.assertTrue(pid, done.stderr)
        report = self.postmortem()
        killed = [process for process in report["processes"] if process["end"]["how"] == "oom_kill"]
        self.assertEqual([process["pid"] for process in killed], [int(pid[1])])
        self.assertEqual((killed[0]["kind"], report["first"]), ("worker", killed[0]["pid"]))
        self.assertEqual(killed[0]["death"]["phase"], "data")
        self.assertIn("loader.py", str(lines_of(killed[0]["death"]["filling"]["site"])))
        [main] = [process for process in report["processes"] if process["kind"] == "main"]
        self.assertEqual((main["end"]["how"], main["end"]["code"], main["death"]), ("exit", 1, None))
        self.assertEqual(main["findings"], [])
        self.assertIn("main: exited with 1", self.postmortem_text())


class Brought(Case):
    """Evidence from elsewhere, about a process that was killed from outside and is unknown without it."""

    def setUp(self):
        super().setUp()
        with subprocess.Popen(["python3", harness.program("ending.py"), "wait"], stdout=subprocess.PIPE,
                              env=self.environment(MEMTRACE_QUIET="1")) as process:
            process.stdout.readline()
            process.kill()
        self.boot, self.unix = time.monotonic(), time.time()
        self.assertEqual(self.ended()[0], "unknown")

    def brought(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def ended(self, *options):
        process = self.only_process(self.postmortem(*options))
        return process["end"]["how"], process["end"]["code"], "\n".join(process["end"]["evidence"])

    def pod(self, reason, code, unix):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix))
        return self.brought(f"pod-{reason}.json", json.dumps({
            "kind": "Pod", "metadata": {"name": "train-0"},
            "spec": {"containers": [{"name": "main", "resources": {"limits": {"memory": "256Mi"}}}]},
            "status": {"containerStatuses": [{"name": "main", "lastState": {"terminated": {
                "reason": reason, "exitCode": code, "finishedAt": stamp}}}]}}))

    def test_a_pod(self):
        how, _, evidence = self.ended("--evidence", self.pod("OOMKilled", 137, self.unix))
        self.assertEqual(how, "oom_kill")
        self.assertIn("OOMKilled, exit 137", evidence)
        self.assertEqual(self.ended()[0], "oom_kill", "the second reading has lost it")
        self.assertTrue(self.postmortem_text().startswith("Killed for memory"))
        self.assertEqual(self.report()["processes"][0]["end"]["how"], "oom_kill")

    def test_a_pod_of_another_time(self):
        self.assertEqual(self.ended("--evidence", self.pod("OOMKilled", 137, self.unix - 3600))[0], "unknown")

    def test_a_pod_that_does_not_say_why(self):
        how, code, _ = self.ended("--evidence", self.pod("Error", 137, self.unix))
        self.assertEqual((how, code), ("unknown", signal.SIGKILL))

    def test_sacct(self):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.unix))
        path = self.brought("sacct.txt", "JobID|State|ExitCode|End|ReqMem|\n"
                                         f"7.0|OUT_OF_MEMORY|0:125|{stamp}|256M|\n")
        how, _, evidence = self.ended("--evidence", path)
        self.assertEqual(how, "oom_kill")
        self.assertIn("OUT_OF_MEMORY", evidence)

    def test_a_kernels_log(self):
        pid = self.only_process(self.report())["pid"]
        line = "[{:.6f}] Memory cgroup out of memory: Killed process {} (python3) total-vm:9kB, anon-rss:104000kB, " \
               "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0\n"
        path = self.brought("dmesg.txt", line.format(self.boot, pid + 1))
        self.assertEqual(self.ended("--evidence", path)[0], "unknown")
        path = self.brought("dmesg.txt", line.format(self.boot, pid))
        self.assertEqual(self.ended("--evidence", path)[0], "oom_kill")

    def test_what_is_none_of_these(self):
        for name, text in (("empty", ""), ("other.json", "{}"), ("words", "nothing of that kind\n")):
            done = subprocess.run([harness.COMMAND, "postmortem", self.out, "--evidence", self.brought(name, text)],
                                  env=harness.bare_environment(), capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertIn(name.encode(), done.stderr)


if __name__ == "__main__":
    unittest.main()
