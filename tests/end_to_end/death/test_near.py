"""Purpose: tests a real limit of the kernel: a killed process is recorded to the last block, and samples come
close before the kill. Far from a limit, samples are not more frequent."""
import os
import signal
import struct
import subprocess
import unittest

import cgroup
import harness
import rawtrace

PAGE = 4096
MIB = harness.MIB
NEAR = 0x100
NOT_SAID = (1 << 64) - 1
ROUNDS = int(os.environ.get("KILLS", "5"))


class Limited(harness.Case):
    def setUp(self):
        super().setUp()
        self.page = os.path.join(self.scratch, "page")

    def glutton(self, group, *options, threads=1, settings=None, expect=-signal.SIGKILL, **more):
        with open(self.page, "wb") as file:
            file.write(bytes(PAGE * threads))
        command = [harness.victim("glutton"), self.page, "--threads", str(threads), *options]
        done = self.run_in("traced", command, self.environment(**(settings or {"MEMTRACE_QUIET": "1"})),
                           preexec_fn=group.enter, **more)
        self.assertEqual(done.returncode, expect, done.stderr)
        with open(self.page, "rb") as file:
            self.counts = [struct.unpack("<Q", file.read(PAGE)[:8])[0] for _ in range(threads)]
        return done

    def records(self, path):
        records, gaps = rawtrace.read(path)
        self.assertEqual(gaps, 0, "sequence numbers are missing")
        return records

    def births(self, path, asked):
        counts = {}
        for record in self.records(path):
            if record.type == "birth" and record.words[2] == asked:
                counts[record.thread] = counts.get(record.thread, 0) + 1
        return sorted(counts.values())

    def assert_births(self, path, asked):
        found = self.births(path, asked)
        self.assertEqual(len(found), len(self.counts))
        for count, births in zip(sorted(self.counts), found):
            self.assertIn(births - count, (0, 1), f"counted {sorted(self.counts)}, in the trace {found}")

    def process_of(self, path):
        process = self.only_process(self.report(path=path))
        self.assert_nothing_lost(process)
        return process

    def clean(self):
        for name in os.listdir(self.out):
            os.unlink(os.path.join(self.out, name))


class KilledByTheKernel(Limited):
    def test_in_the_first_second(self):
        """The trace has each block, and the counters from before: one sample when recording began."""
        for limit in range(100, 100 + 40 * ROUNDS, 40):
            with self.subTest(limit=limit), cgroup.Group("near", limit * MIB) as group:
                self.glutton(group, settings=harness.RECORD_ALL)
                self.assertEqual(group.kills(), 1)
                [path] = self.trace_files()
                self.assert_births(path, 1 << 18)
                process = self.process_of(path)
                self.assertNotEqual(process["end"]["how"], "exit")
                records = self.records(path)
                first = [record for record in records if record.type == "sample_cgroup" and record.flags & 0xFF == 0][0]
                texts = "".join(bytes(struct.pack("<5Q", *record.words[1:]))[:record.flags & 0xFF].decode()
                                for record in records
                                if record.type == "text" and record.words[0] == first.words[0])
                self.assertEqual(texts, group.directory)
                self.assertEqual(first.words[2], limit * MIB)
                self.assertEqual(first.words[5], 0, "no kill yet")
                births = [record.stamp for record in records if record.type == "birth" and record.words[2] == 1 << 18]
                self.assertLess(first.stamp, births[0] if len(births) > 1 else first.stamp + 1)
                self.clean()

    def test_while_the_rings_are_drained(self):
        """Four threads fill their rings faster than a drain pass empties them, so the process dies in the
        middle of a pass."""
        waiting = written = 0
        for limit in range(200, 200 + 20 * ROUNDS, 20):
            with self.subTest(limit=limit), cgroup.Group("near", limit * MIB) as group:
                self.glutton(group, "--size", "8000", threads=4, settings=harness.RECORD_ALL)
                [path] = self.trace_files()
                self.assert_births(path, 8000)
                self.process_of(path)
                waiting += sum(1 for _ in rawtrace.rings(self.ring_files()[0]))
                written += sum(1 for _ in rawtrace.segments(path))
                self.clean()
        self.assertGreater(waiting, 0)
        self.assertGreater(written, waiting)

    def test_during_forks(self):
        for limit in range(150, 150 + 20 * ROUNDS, 20):
            with self.subTest(limit=limit), cgroup.Group("near", limit * MIB) as group:
                self.glutton(group, "--size", "20000", "--forks", "--pause", "1", threads=2)
                self.assertGreaterEqual(group.kills(), 1)
                paths = self.trace_files()
                self.assertGreater(len(paths), 1, "the children's")
                parents = [path for path in paths if self.births(path, 20000)]
                self.assertEqual(len(parents), 1)
                self.assert_births(parents[0], 20000)
                for process in self.report()["processes"]:
                    self.assert_nothing_lost(process)
                self.clean()

    def test_a_worker(self):
        """The parent goes on. The worker's trace has all blocks, and the rise of the counter."""
        with cgroup.Group("near", 200 * MIB) as group:
            done = self.glutton(group, "--worker", expect=0)
            self.assertEqual(group.kills(), 1)
        self.assertRegex(done.stdout, rb"^worker \d+ signal 9\n$")
        pid = int(done.stdout.split()[1])
        processes = {process["pid"]: process for process in self.report()["processes"]}
        self.assertEqual(len(processes), 2)
        self.assert_nothing_lost(processes[pid])
        self.assertEqual([process["end"]["how"] for process in processes.values() if process["pid"] != pid], ["exit"])
        [path] = [path for path in self.trace_files() if f"-{pid}-" in path]
        self.assert_births(path, 1 << 18)
        [path] = [path for path in self.trace_files() if f"-{pid}-" not in path]
        kills = [record.words[5] for record in self.records(path)
                 if record.type == "sample_cgroup" and record.flags & 0xFF == 0]
        self.assertEqual((kills[0], kills[-1]), (0, 1), "of the parent, which saw it")


class Samples(Limited):
    def samples(self, path):
        """Returns the samples of the process's own group: stamp, near, charge, limit; and the number of process
        samples."""
        records = self.records(path)
        groups = [(record.stamp, bool(record.flags & NEAR), *record.words[1:3]) for record in records
                  if record.type == "sample_cgroup" and record.flags & 0xFF == 0]
        return groups, sum(record.type == "sample_process" for record in records)

    def test_close_before_the_kill(self):
        """Allocates 1 MiB at a time, slowly: the last sample is within a few MiB of the limit."""
        with cgroup.Group("near", 300 * MIB) as group:
            self.glutton(group, "--size", str(MIB), "--pause", "20000000")
        [path] = self.trace_files()
        groups, _ = self.samples(path)
        near = [sample for sample in groups if sample[1]]
        self.assertGreater(len(near), 2, groups)
        self.assertTrue(all(limit == 300 * MIB for *_, limit in groups))
        self.assertGreater(near[0][2], 300 * MIB * 7 // 8)
        self.assertGreater(groups[-1][2], 280 * MIB, "close to the end")
        self.assert_births(path, MIB)

    def test_of_an_ancestor(self):
        """The binding limit is the parent's; the group itself has no limit."""
        with cgroup.Group("near", 300 * MIB) as parent, cgroup.Group("inner", below=parent) as group:
            self.glutton(group, "--size", str(MIB), "--pause", "20000000")
        [path] = self.trace_files()
        groups, _ = self.samples(path)
        self.assertTrue(all(limit == NOT_SAID for *_, limit in groups), groups)
        self.assertTrue(any(near for _, near, *_ in groups), groups)
        ancestors = [record.words[2] for record in self.records(path)
                     if record.type == "sample_cgroup" and record.flags & 0xFF == 1]
        self.assertEqual(set(ancestors), {300 * MIB})

    def test_far_from_a_limit_no_more_than_before(self):
        """Own samples are at least half a second apart on average, and the machine's files are read each fourth
        time, by the stamps alone. A delay between the decision and the stamp moves one sample, not their number."""
        with cgroup.Group("near", 4096 * MIB) as group:
            command = ["--size", str(MIB), "--pause", "25000000", "--most", "100"]
            self.glutton(group, *command, expect=0, settings=harness.RECORD_ALL)
        [path] = self.trace_files()
        groups, processes = self.samples(path)
        self.assertGreaterEqual(len(groups), 2)
        self.assertEqual([sample for sample in groups if sample[1]], [])
        regular = groups[:-1]  # the last one is that of the end
        span = (regular[-1][0] - regular[0][0]) / 1e9
        self.assertLessEqual(len(regular), 2 + span / 0.5, f"samples in {span:.2f} s")
        # No phase ended, and no sample was requested. The other samples come where RSS was a sixteenth higher.
        self.assertLessEqual(processes, len(groups) + 16)
        machine = sum(record.type == "sample_machine" for record in self.records(path))
        self.assertLessEqual(machine, 2 + len(groups) // 4)  # the last one reads them, too

    def test_full_of_page_cache_is_not_near(self):
        """Reading a data set fills the group to its limit with page cache, which the kernel can reclaim."""
        kind = subprocess.run(["stat", "-f", "-c", "%T", self.scratch], capture_output=True, check=True).stdout.strip()
        if kind in (b"tmpfs", b"ramfs"):
            self.skipTest(f"the files of {self.scratch} stay in memory: {kind.decode()}")
        data = os.path.join(self.scratch, "data")
        with open(data, "wb") as file:
            for _ in range(200):
                file.write(bytes(MIB))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with cgroup.Group("near", 160 * MIB) as group:
            with open(self.page, "wb") as file:
                file.write(bytes(PAGE))
            command = [harness.victim("glutton"), self.page, "--size", str(MIB), "--most", "40"]
            with subprocess.Popen(command, env=self.environment(**harness.RECORD_ALL), cwd=self.scratch,
                                  stdin=subprocess.PIPE, preexec_fn=group.enter) as process:
                # A separate process reads, and the group is charged, as for the reads of a loader.
                subprocess.run(["cat", data], check=True, stdout=subprocess.DEVNULL, preexec_fn=group.enter)
                subprocess.run(["sleep", "2"], check=True)  # for four samples
                process.communicate(b"\n", timeout=60)
            self.assertEqual(process.returncode, 0)
            self.assertGreater(group.highest(), 155 * MIB)
        [path] = self.trace_files()
        groups, _ = self.samples(path)
        self.assertGreater(groups[-1][2], 155 * MIB, "it is full")
        self.assertEqual([sample for sample in groups if sample[1]], [])


if __name__ == "__main__":
    unittest.main()
