"""Purpose: tests that a process which its manager killed is told from one that the kernel killed. The first to die is
told from those which a launcher then ended.

Truth: the signals that the test sends, and what PyTorch's own launcher does and writes. The lines of the other managers
have the format of their sources, with the pid and time of the process that the test ended.
"""
import json
import os
import signal
import socket
import subprocess
import time
import unittest

import deaths
import harness


class Managers(deaths.Case):
    """A process that a manager ended. Without the manager's statement the cause is unknown."""

    def end(self, number, prefix=()):
        with subprocess.Popen([*prefix, "python3", harness.program("ending.py"), "wait"], stdout=subprocess.PIPE,
                              env=self.environment(MEMTRACE_QUIET="1")) as process:
            process.stdout.readline()
            process.send_signal(number)
        self.assertEqual(process.returncode, -number)
        self.unix = time.time()
        ended = self.only_process(self.postmortem())
        self.assertEqual(ended["end"]["how"], "unknown")
        return ended["pid"]

    def brought(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.only_process(self.postmortem("--evidence", path))["end"]

    def stamp(self, shift=0):
        return time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(self.unix + shift))

    def assert_for_memory(self, end, manager, code):
        self.assertEqual((end["how"], end["manager"], end["for_memory"], end["code"]),
                         ("killed_by_manager", manager, True, code), end)
        self.assertRegex(self.postmortem_text(), rf"^Killed for memory by {manager} \(certain\)")
        self.assertEqual(self.report()["processes"][0]["end"]["how"], "killed_by_manager", "the second reading lost it")

    def earlyoom(self, pid, shift=0):
        return f"{self.stamp(shift)} node earlyoom[500]: sending SIGTERM to process {pid} uid 0 \"python3\": oom_score 900, " \
               "VmRSS 100 MiB, cmdline \"python3 ending.py\"\n"

    def test_earlyoom(self):
        pid = self.end(signal.SIGTERM)
        self.assertEqual(self.brought("other", self.earlyoom(pid + 1))["how"], "unknown")
        self.assertEqual(self.brought("earlier", self.earlyoom(pid, -3600))["how"], "unknown")
        self.assert_for_memory(self.brought("journal", self.earlyoom(pid)), "earlyoom", signal.SIGTERM)

    def test_ray(self):
        pid = self.end(signal.SIGKILL)
        line = "[{},742 E 395 395] (raylet) node_manager.cc:3040: Task was killed due to the node running low on memory.\n" \
               "Memory on the node (IP: 10.0.0.1, ID: 50ee) where the task (task ID: NIL_ID, name=f, pid={}, memory used=" \
               "0.18GB) was running was 14.67GB / 15.44GB (0.95015), which exceeds the memory usage threshold of 0.95. Ray " \
               "killed this worker (ID: 1c42) because it was the most recently scheduled task\n"
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.unix))
        self.assertEqual(self.brought("other", line.format(stamp, pid + 1))["how"], "unknown")
        end = self.brought("raylet.out", line.format(stamp, pid))
        self.assert_for_memory(end, "Ray", 0)

    def test_systemd_oomd(self):
        group = self.group("4096M")
        self.end(signal.SIGKILL, prefix=group.inside([]))
        line = "{} node systemd-oomd[612]: Killed {} due to memory pressure for /a being 61.01% > 50.00% for > 20s with " \
               "reclaim activity\n"
        self.assertEqual(self.brought("other", line.format(self.stamp(), "/another"))["how"], "unknown")
        self.assert_for_memory(self.brought("journal", line.format(self.stamp(), group.path)), "systemd-oomd", 9)

    def test_a_kubelet(self):
        self.end(signal.SIGKILL)
        pod = {"kind": "Pod", "metadata": {"name": socket.gethostname()}, "spec": {"containers": [{"name": "main"}]},
               "status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. ",
                          "conditions": [{"type": "DisruptionTarget", "lastTransitionTime": self.stamp()}]}}
        other = {**pod, "metadata": {"name": "another"}}
        self.assertEqual(self.brought("other.json", json.dumps(other))["how"], "unknown")
        self.assert_for_memory(self.brought("pod.json", json.dumps(pod)), "kubelet", 0)


class Launcher(deaths.Case):
    """PyTorch's launcher ends the ranks that live, when one failed. What it wrote is the evidence."""

    def launch(self, watch=()):
        command = [*watch, harness.torch_python(), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3",
                   harness.program("first_to_die.py")]
        done = self.run_in("traced", command, self.environment(**harness.RECORD_ALL))
        self.assertNotEqual(done.returncode, 0)
        folder = os.path.join(self.scratch, "traced")

        def read(name):
            with open(os.path.join(folder, name), encoding="ascii") as file:
                return float(file.read())

        self.pids = [int(read(f"rank{rank}")) for rank in range(3)]
        self.died = read("died")
        self.log = os.path.join(self.scratch, "stderr.txt")
        with open(self.log, "wb") as file:
            file.write(done.stderr)
        for pid in self.pids[:2]:  # the launcher's own words
            self.assertIn(f"Sending process {pid} closing signal SIGTERM".encode(), done.stderr)

    def ends(self, *options):
        found = self.postmortem(*options)
        return found, {process["rank"]: process["end"] for process in found["processes"] if process["rank"] is not None}

    def test_the_first_to_die_and_those_that_followed(self):
        self.launch()
        found, ends = self.ends("--evidence", self.log)
        for rank in (0, 1):
            self.assertEqual((ends[rank]["how"], ends[rank]["manager"], ends[rank]["for_memory"], ends[rank]["after"],
                              ends[rank]["code"]), ("killed_by_manager", "torchrun", False, "rank 2", signal.SIGTERM))
        self.assertEqual((ends[2]["how"], ends[2]["code"]), ("unknown", signal.SIGKILL))
        self.assertEqual(found["first"], self.pids[2])
        text = " ".join(self.postmortem_text().split())
        self.assertTrue(text.startswith("Killed (SIGKILL), cause unknown."), text)
        self.assertIn(f"rank 0 pid {self.pids[0]} 2", text)
        self.assertIn("killed by torchrun after rank 2 died", text)
        of_one = self.postmortem_text("--rank", "1")
        self.assertTrue(of_one.startswith("Killed by torchrun after rank 2 died (certain): not killed for memory."), of_one)

    @harness.only_in_long
    def test_by_the_signals_alone(self):
        """`memtrace run` sees the signals of all ranks. Nothing states who sent them, so it is only likely."""
        self.launch(watch=[harness.COMMAND, "run", "-o", self.out, "--"])
        found, ends = self.ends()
        if "wait status" not in "".join(ends[0]["evidence"]):
            self.skipTest("this kernel does not tell the end of another's child: Linux 6.15 does")
        for rank in (0, 1):
            self.assertEqual((ends[rank]["how"], ends[rank]["manager"], ends[rank]["after"]),
                             ("killed_by_manager", "torchrun", "rank 2"))
        self.assertEqual(found["first"], self.pids[2])
        of_one = self.postmortem_text("--rank", "0")
        self.assertTrue(of_one.startswith("Killed by torchrun after rank 2 died (likely): not killed for memory."), of_one)

    @harness.only_in_long
    def test_a_small_victim_beside_the_largest(self):
        """earlyoom's line names the rank that died first, which is small."""
        self.launch()
        path = os.path.join(self.scratch, "journal")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(self.died))
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{stamp} node earlyoom[5]: sending SIGKILL to process {self.pids[2]} uid 0 \"python\": oom_score 9, "
                       "VmRSS 60 MiB\n")
        found, ends = self.ends("--evidence", path, "--evidence", self.log)
        self.assertEqual((ends[2]["how"], ends[2]["manager"]), ("killed_by_manager", "earlyoom"))
        self.assertEqual([ends[rank]["after"] for rank in (0, 1)], ["rank 2"] * 2)
        self.assertEqual(found["first"], self.pids[2])
        text = " ".join(self.postmortem_text().split())
        self.assertTrue(text.startswith("Killed for memory by earlyoom (certain)"), text)
        self.assertRegex(text, rf"the largest process of the job then: rank 0 pid {self.pids[0]}, 2\d\d\.\d+ MiB anonymous")


if __name__ == "__main__":
    unittest.main()
