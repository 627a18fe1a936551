"""Purpose: tests that small blocks are counted exactly, and sampled by the documented distribution."""
import math
import shutil
import unittest

import harness
import rawtrace

SAMPLED = 16
MASK = (1 << 32) - 1


class Small(harness.Case):
    def run_victim(self, *arguments, **settings):
        """Returns the victim's own count, its stderr, and the records of its trace."""
        shutil.rmtree(self.out, ignore_errors=True)
        done = self.run_in("traced", [harness.victim("small_blocks"), *map(str, arguments)],
                           self.environment(**harness.RECORD_ALL, MEMTRACE_STACKS="none", **settings))
        self.assertEqual(done.returncode, 0, done.stderr)
        (path,) = self.trace_files()
        records, gaps = rawtrace.read(path)
        self.assertEqual(gaps, 0)
        return [int(word) for word in done.stdout.split()], done.stderr, records

    def flows(self, records):
        """Returns births, deaths, bytes allocated and bytes freed of small blocks, from the trace."""
        totals = [0, 0, 0, 0]
        for record in records:
            words = record.words
            if record.type == "counters":
                more = (words[2], words[3], words[0], words[1])
            elif record.type in ("birth", "death"):
                more = (words[5] & MASK, words[5] >> 32, words[4] & MASK, words[4] >> 32)
            else:
                continue
            totals = [total + one for total, one in zip(totals, more)]
        return totals

    def check_counts(self, threads, count, *options, **settings):
        """The program's work beyond its loops, at its start and end, is that of a run with empty loops."""
        _, _, empty = self.run_victim(threads, 0, **settings)
        own, said, records = self.run_victim(threads, count, *options, **settings)
        more = [full - bare for full, bare in zip(self.flows(records), self.flows(empty))]
        self.assertEqual(more, own)
        return said, records

    def test_blocks_of_before_recording_make_nothing_uncertain(self):
        """They came and went in the startup log of a small process. Once, 800 MB of them made levels uncertain
        by that amount."""
        code = "for _ in range(100000): bytearray(8192)\nheld = [bytearray(1 << 20) for _ in range(100)]\n"
        self.run_in("traced", ["python3", "-c", code], self.environment(MEMTRACE_QUIET="1"))
        report = self.report()
        error = report["processes"][0]["trace"]["error"]["peak"]
        self.assertLess(error["below"] + error["above"], 4 * harness.MIB)

    def test_counts_of_one_thread(self):
        self.check_counts(1, 300_000)

    def test_counts_of_eight_threads(self):
        self.check_counts(8, 60_000)

    def test_counts_of_signal_handlers_that_allocate(self):
        said, _ = self.check_counts(2, 1_500_000, "signals")
        self.assertGreater(int(said), 100, "no handler interrupted the tracer: this tests nothing")

    def test_counts_with_sampling_off_and_everywhere(self):
        for sample in ("0", "300"):
            with self.subTest(sample):
                self.check_counts(2, 30_000, MEMTRACE_SAMPLE=sample)

    def test_drawn_blocks(self):
        mean = 16384
        for threads, count in ((1, 300_000), (8, 40_000)):
            with self.subTest(threads):
                own, _, records = self.run_victim(threads, count, MEMTRACE_SAMPLE="16K")
                alive, wrong, drawn, estimate, variance = set(), 0, 0, 0.0, 0.0
                for record in records:
                    if record.type not in ("birth", "death") or not record.flags & SAMPLED:
                        continue
                    address, given = record.words[:2]
                    self.assertEqual(rawtrace.KINDS[record.kind], "heap")
                    self.assertLess(given, 4096)
                    if record.type == "death":
                        wrong += address not in alive
                        alive.discard(address)
                        continue
                    wrong += address in alive  # it remained after its free
                    self.assertGreaterEqual(given, record.words[2], "asked")
                    alive.add(address)
                    drawn += 1
                    chance = -math.expm1(-given / mean)
                    estimate += given / chance
                    variance += given * given * (1 - chance) / chance**2
                self.assertGreater(drawn, 3000)
                # A busy machine may delay a thread for longer than the recorder waits.
                lost = self.only_process(self.report())["trace"]["lost_events"]
                self.assertLessEqual(wrong, lost)
                self.assertLess(len(alive), 3 + lost, "what lives on is not the workers'")
                # Five standard errors: exceeded by chance once in 1.7 million runs.
                self.assertLess(abs(estimate - own[2]), 5 * math.sqrt(variance) + 100_000)
                (process,) = [record for record in records if record.type == "process"]
                self.assertEqual(process.words[5] & MASK, mean)

    def test_every_block(self):
        """MEMTRACE_SAMPLE=1 records each block, like any tracked block."""
        own, _, records = self.run_victim(1, 5_000, MEMTRACE_SAMPLE="1")
        self.assertEqual(self.flows(records), [0, 0, 0, 0])
        births = [record for record in records if record.type in ("birth", "move")]
        self.assertGreaterEqual(len(births), own[0])
        self.assertFalse(any(record.flags & SAMPLED for record in births))


if __name__ == "__main__":
    unittest.main()
