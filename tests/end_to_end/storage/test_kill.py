"""Purpose: tests that after SIGKILL at any instant no recorded event is lost."""
import os
import signal
import struct
import subprocess
import time
import unittest

import harness
import rawtrace

PAGE = 4096
KILLS = int(os.environ.get("KILLS", "20"))


class Kill(harness.Case):
    def kill_once(self, delay, *options, threads=1, settings=None):
        """Starts the victim, waits until it records, kills it after `delay`. Returns its own count of each
        thread."""
        page = os.path.join(self.scratch, "page")
        with open(page, "wb") as file:
            file.write(bytes(PAGE * threads))
        environment = self.environment(**harness.RECORD_ALL, **(settings or {}))
        with subprocess.Popen([harness.victim("counting_victim"), page, "--threads", str(threads), *options],
                              env=environment, cwd=self.scratch) as process:
            until = time.monotonic() + 30
            while not self.trace_files() or 0 in self.counts(page, threads):
                if process.poll() is not None or time.monotonic() > until:
                    self.fail(f"not every thread records; the victim's status is {process.poll()}")
                time.sleep(0.001)
            time.sleep(delay)
            self.assertIsNone(process.poll(), "the victim ended by itself")
            process.send_signal(signal.SIGKILL)
            process.wait()
        return self.counts(page, threads)

    def counts(self, page, threads):
        with open(page, "rb") as file:
            return [struct.unpack("<Q", file.read(PAGE)[:8])[0] for _ in range(threads)]

    def births(self, size):
        """Returns the heap births of this size in the trace, by thread, from the tests' own reader."""
        records, gaps = rawtrace.read(self.trace_files()[0])
        self.assertEqual(gaps, 0, "sequence numbers are missing")
        heap = rawtrace.KINDS.index("heap")
        counts = {}
        for record in records:
            if record.type == "birth" and record.kind == heap and record.words[2] == size:
                counts[record.thread] = counts.get(record.thread, 0) + 1
        return counts

    def assert_births(self, counted, size):
        found = self.births(size)
        # The victim and the trace number the threads differently.
        for count, births in zip(sorted(counted), sorted(found.values()) or [0] * len(counted)):
            self.assertIn(births - count, (0, 1), f"counted {sorted(counted)}, in the trace {found}")
        self.assertEqual(len(found), len(counted))

    def clean(self):
        for path in self.trace_files() + self.ring_files():
            os.unlink(path)

    def rounds(self, count, *options, size=8192, threads=1, longest=0.3):
        chance = harness.chance(20)
        for i in range(count):
            delay = chance.uniform(0, longest)
            with self.subTest(round=i, delay=delay):
                counted = self.kill_once(delay, *options, "--size", str(size), threads=threads)
                self.assert_births(counted, size)
                process = self.only_process(self.report())
                self.assert_nothing_lost(process)
                self.assertNotEqual(process["end"]["how"], "exit")
            self.clean()

    def test_at_any_instant(self):
        # The pause keeps one round small enough for the slow reader here.
        self.rounds(KILLS, "--pause", "1")

    def test_rings_that_wrap(self):
        self.rounds(5, "--pattern", "free", longest=0.05)

    def test_four_threads(self):
        self.rounds(5, "--pattern", "free", threads=4, longest=0.05)

    def test_what_is_held_at_the_kill(self):
        counted = self.kill_once(0.2, "--pattern", "keep", "--pause", "1")
        process = self.only_process(self.report("--all"))
        rows = [row for entry in process["peaks"] if entry["measure"] == "live" for row in entry["at_peak"]
                if row["blocks"] and row["asked"] == 8192 * row["blocks"]]
        self.assertIn(sum(row["blocks"] for row in rows) - counted[0], (0, 1), rows)

    def test_small_blocks_are_counted_exactly(self):
        counted = self.kill_once(0.2, "--size", "100", "--pattern", "free", "--pause", "1")
        process = self.only_process(self.report())
        self.clean()
        page = os.path.join(self.scratch, "page")
        self.run_in("traced", [harness.victim("counting_victim"), page, "--count", "0"],
                    self.environment(**harness.RECORD_ALL))
        before = self.only_process(self.report())

        def allocations(process):
            return sum(row["allocations"] for row in process["phases"]
                       if row["memory"] == "host" and row["step"] != "steady")

        self.assertIn(allocations(process) - allocations(before) - counted[0], (0, 1))

    def test_the_bound_on_disk_holds_and_nothing_is_lost(self):
        self.kill_once(1.0, "--pattern", "free", settings={"MEMTRACE_MAX_TRACE": "2M"})
        files = [os.path.join(self.out, name) for name in os.listdir(self.out) if name != "job"]
        self.assertLessEqual(sum(os.path.getsize(path) for path in files), 2 * harness.MIB)
        self.assertTrue(any(".window-" in path for path in files), files)
        self.assert_nothing_lost(self.only_process(self.report()))


class Races(harness.Case):
    def test_no_impossible_transition(self):
        """Replayed by stamp, no block is born at the address of a live block, and only live blocks die."""
        done, _ = self.trace([harness.victim("realloc_race")], harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0)
        records, gaps = rawtrace.read(self.trace_files()[0])
        self.assertEqual(gaps, 0)
        events = []
        for record in records:
            if record.kind != rawtrace.KINDS.index("heap") or record.flags & rawtrace.TENSOR:
                continue
            words = record.words
            if record.type == "birth":
                events.append((record.stamp, "birth", words[0]))
            elif record.type == "death":
                events.append((record.stamp, "death", words[0]))
            elif record.type == "move":
                events.append((record.stamp, "death", words[0]))
                events.append((record.stamp + (words[5] >> 32), "birth", words[1]))
        live, wrong = set(), []
        for stamp, what, address in sorted(events):
            if (what == "birth") == (address in live):
                wrong.append((stamp, what, hex(address)))
            (live.add if what == "birth" else live.discard)(address)
        self.assertGreater(len(events), 8 * 2 * 4000)
        self.assertEqual(wrong[:10], [])


if __name__ == "__main__":
    unittest.main()
