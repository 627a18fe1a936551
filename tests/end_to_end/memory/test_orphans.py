"""Purpose: tests that shared memory that a process left in /dev/shm is found, unless a process holds or may
still remove it.

Truth: the kernel's sizes of the files, and the program's known actions.
"""
import glob
import mmap
import os
import signal
import subprocess
import time
import unittest

import deaths
import harness

PROGRAM = harness.program("left_behind.py")
MIB = harness.MIB


def lines_of_program():
    with open(PROGRAM, encoding="utf-8") as file:
        return [f"left_behind.py:{number}" for number, line in enumerate(file, 1) if "# the line" in line]


def taken(name):
    return os.stat(f"/dev/shm/{name}").st_blocks * 512


def all_can_be_read():
    """True if the mappings of all processes can be read. Kernel threads have none."""
    for path in glob.glob("/proc/[0-9]*/maps"):
        try:
            with open(path, "rb"):
                pass
        except PermissionError:
            return False
        except OSError:
            continue
    return True


def wait_until(there, what):
    for _ in range(6000):
        if there():
            return
        time.sleep(0.01)
    raise AssertionError(f"a minute later: {what}")


def gone(pid):
    """True if it has ended; its parent may not have read its status yet."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return not file.read()
    except OSError:
        return True


def wait_until_gone(pid):
    wait_until(lambda: gone(pid), f"{pid} runs")


class Orphans(deaths.Case):
    def start(self, *arguments, python="python3", lines=1, record={"MEMTRACE_QUIET": "1"}):
        """Returns the program, in its own group, and its output, once it has its memory."""
        process = subprocess.Popen([python, PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   start_new_session=True, text=True, env=self.environment(**record))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(self.kill_group, process)
        said = [process.stdout.readline().strip() for _ in range(lines)]
        self.assertTrue(all(said), said)
        self.addCleanup(self.remove, said[-1])
        return process, said

    @staticmethod
    def kill_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    @staticmethod
    def remove(name):
        for path in glob.glob(f"/dev/shm/{name}"):
            os.unlink(path)

    def killed(self, process):
        """Kills it and all processes in its group, as a container ends."""
        self.kill_group(process)
        process.wait()

    def found(self):
        """Returns the finding of each process that has one, by pid; both documents must agree."""
        by_pid = [{process["pid"]: finding for process in document["processes"] for finding in process["findings"]
                   if finding["id"] == "orphan-shm"} for document in (self.report(), self.postmortem())]
        self.assertEqual(by_pid[0], by_pid[1])
        return by_pid[0]

    def assert_left(self, pid, names, confidence, remedy):
        finding = self.found()[pid]
        self.assertEqual(finding["bytes"], sum(taken(name) for name in names))
        self.assertEqual((finding["memory"], finding["confidence"]), ("host", confidence))
        self.assertIn(remedy, finding["remedy"])
        for name in names[:3]:
            self.assertTrue(any(name in line and f" {taken(name)} bytes" in line for line in finding["evidence"]), finding)
        self.assertTrue(set(deaths.lines_of(finding["site"])) & set(lines_of_program()), finding["site"])
        return finding

    def assert_in_texts(self, bytes_):
        size = f"{bytes_ / MIB:.2f} MiB left in /dev/shm"
        report, postmortem = self.report_text(), self.postmortem_text()
        self.assertIn(size, report)
        self.assertIn("Fix      rm /dev/shm/", report)
        self.assertIn(size, postmortem)
        self.assertEqual(postmortem.count("Fix      rm /dev/shm/"), 1, postmortem)
        return report, postmortem

    def test_by_name(self):
        process, [name] = self.start("shm_open", "48")
        self.killed(process)
        finding = self.assert_left(process.pid, [name], "likely", f"rm /dev/shm/{name};")
        self.assertEqual(finding["bytes"], 48 * MIB)
        texts = self.assert_in_texts(48 * MIB)
        self.remove(name)
        self.assertEqual((self.report_text(), self.postmortem_text()), texts, "the second reading says something else")

    def test_shared_memory_with_its_tracker(self):
        process, [name] = self.start("shared_memory", "48")
        self.killed(process)
        self.assert_left(process.pid, [name], "likely", f"rm /dev/shm/{name};")
        self.assertIn("resource_tracker", self.found()[process.pid]["remedy"])
        self.assert_in_texts(48 * MIB)

    def test_a_program_that_ends_in_order(self):
        process, [name] = self.start("shm_open", "48", "end")
        process.wait()
        self.assert_left(process.pid, [name], "likely", f"rm /dev/shm/{name};")
        self.assert_in_texts(48 * MIB)

    def test_pytorch(self):
        process, [name] = self.start("torch", "48", python=harness.torch_python())
        self.addCleanup(self.remove, f"torch_{process.pid}_*")
        manager = self.of_job("torch_shm_manager")
        os.kill(manager, signal.SIGKILL)  # it is in its own group, and would remove the files
        wait_until_gone(manager)
        self.killed(process)
        names = sorted((os.path.basename(path) for path in glob.glob(f"/dev/shm/torch_{process.pid}_*")),
                       key=taken, reverse=True)
        self.assertEqual((names[0], len(names)), (name, 21))
        certain = "certain" if all_can_be_read() else "likely"
        self.assert_left(process.pid, names, certain, f"rm /dev/shm/torch_{process.pid}_*;")
        self.assertIn("file_descriptor", self.found()[process.pid]["remedy"])
        self.assert_in_texts(sum(taken(name) for name in names))

    def of_job(self, program):
        for path in glob.glob("/proc/[0-9]*"):
            try:
                with open(f"{path}/cmdline", "rb") as command, open(f"{path}/environ", "rb") as environment:
                    if program.encode() in command.read() and self.out.encode() in environment.read():
                        return int(os.path.basename(path))
            except OSError:
                continue
        self.fail(f"no {program} runs")

    def test_pytorch_tidies_up(self):
        process, [name] = self.start("torch", "48", python=harness.torch_python())
        manager = self.of_job("torch_shm_manager")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.assertEqual(self.found(), {}, "while the manager is there, or after it")
        wait_until_gone(manager)
        self.assertFalse(os.path.exists(f"/dev/shm/{name}"))
        self.assertEqual(self.found(), {})

    def test_the_tracker_tidies_up(self):
        process, [name] = self.start("shared_memory", "48")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.assertEqual(self.found(), {}, "while the tracker is there, or after it")
        wait_until(lambda: not os.path.exists(f"/dev/shm/{name}"), f"{name} is there")
        self.assertEqual(self.found(), {})

    def test_what_is_unlinked(self):
        process, _ = self.start("shm_open", "48", "unlink")
        self.killed(process)
        self.assertEqual(self.found(), {})
        self.assertNotIn("/dev/shm", self.report_text())

    def test_what_another_process_holds(self):
        """One process maps it, another has it open. Later reports must repeat the first one's result."""
        for mapped in (True, False):
            with self.subTest(mapped=mapped):
                self.out = os.path.join(self.scratch, f"out-{mapped}")
                process, [name] = self.start("shm_open", "48")
                with open(f"/dev/shm/{name}", "r+b") as file:
                    memory = mmap.mmap(file.fileno(), 0) if mapped else None
                    if mapped:
                        file.close()
                    self.killed(process)
                    self.assertEqual(self.found(), {})
                if mapped:
                    memory.close()
                self.assertEqual(self.found(), {})
                for path in glob.glob(os.path.join(self.out, "*.evidence")):
                    os.unlink(path)
                self.assertEqual(list(self.found()), [process.pid], "asked again it is there")

    def test_as_long_as_the_job_goes_on(self):
        process, [child, name] = self.start("shm_open", "48", "child", lines=2)
        process.kill()
        process.wait()
        self.assertEqual(self.found(), {})
        os.kill(int(child), signal.SIGKILL)
        wait_until_gone(child)
        self.assert_left(process.pid, [name], "likely", f"rm /dev/shm/{name};")

    def test_it_is_the_makers(self):
        process, said = self.start("shm_open", "48", "attach", lines=2, record=harness.RECORD_ALL)
        name = next(one for one in said if not one.isdigit())
        self.addCleanup(self.remove, name)
        self.killed(process)
        wait_until_gone(next(one for one in said if one.isdigit()))
        self.assertEqual(len(self.report()["processes"]), 2)
        self.assertEqual(list(self.found()), [process.pid])

    def test_age_alone_says_nothing(self):
        process, _ = self.start("shm_open", "48", "unlink")
        other = f"memtrace-test-other-{process.pid}"
        self.addCleanup(self.remove, other)
        with open(f"/dev/shm/{other}", "wb") as file:
            file.write(bytes(40 * MIB))
        self.killed(process)
        self.assertEqual(self.found(), {})

    def test_little_is_not_worth_a_word(self):
        process, [name] = self.start("shm_open", "4", record=harness.RECORD_ALL)
        self.killed(process)
        self.assertEqual(taken(name), 4 * MIB)
        self.assertEqual(self.found(), {})


if __name__ == "__main__":
    unittest.main()
