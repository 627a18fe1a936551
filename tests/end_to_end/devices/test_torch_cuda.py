"""Purpose: compares PyTorch's allocator of pinned memory with its own figures; fakes of its libraries use it. That of GPU
memory is in test_cuda_allocator.py."""
import math
import os
import unittest

import harness
import rawtrace

MIB = harness.MIB

# Parameters of a rank's partition, and the bytes of host memory per parameter with pinned memory.
DEEPSPEED = {0.5e9: 18.7, 1.1e9: 27.5, 1.54e9: 21.9, 3.0e9: 22.3, 7.62e9: 19.3, 8.03e9: 18.7, 8.7e9: 27.7,
             14.8e9: 19.6, 70.6e9: 27.5}
SCALE = 1024  # a power of two, so rounding is unchanged, for memory that this machine has


def power_of_two(n):
    return 1 << math.ceil(math.log2(n))


def rows_at_peak(process, memory, measure):
    return [row for entry in process["peaks"] if (entry["memory"], entry["measure"]) == (memory, measure)
            for row in entry["at_peak"]]


class Torch(harness.Case):
    MORE = {**harness.RECORD_ALL, "MEMTRACE_CUPTI": "on"}

    def run_one(self, program, *words, more=None):
        self.new_scratch()
        command = [os.path.join(harness.FAKES, program), *words]
        bare = self.bare(command, more)
        done, report = self.trace(command, {**self.MORE, **(more or {})})
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
        self.assertEqual(done.returncode, 0)
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        return done.stdout.decode(), process

    def zero_offload(self, parameters, how):
        """Returns the bytes alive at the end, by their use."""
        _, process = self.run_one("use_pinned", str(parameters), how)
        rows = rows_at_peak(process, "host", "live")
        pinned = [row for row in rows if row["kind"] == "pinned"]
        # A sampled small block represents half a MiB of similar blocks.
        tensors = [row for row in rows if (row["kind"], row["how"]) == ("heap", "measured") and row["asked"] >= parameters]
        return (sum(row["bytes"] for row in pinned if row["role"] != "rounding"),
                sum(row["bytes"] for row in pinned if row["role"] == "rounding"),
                sum(row["asked"] for row in tensors))

    def test_pinned_memory_of_zero_offload(self):
        """10 r + 8 bytes for each parameter; r is the factor by which 4 bytes grow if sizes are rounded to
        powers of two: 18 to 28."""
        for whole, predicted in DEEPSPEED.items():
            with self.subTest(whole):
                p = int(whole) // SCALE
                asked, rounding, pageable = self.zero_offload(p, "pinned")
                self.assertEqual(asked, 10 * p)
                self.assertEqual(asked + rounding, 2 * power_of_two(4 * p) + power_of_two(2 * p))
                self.assertEqual(pageable, 8 * p)
                r = power_of_two(4 * p) / (4 * p)
                self.assertAlmostEqual((asked + rounding + pageable) / p, 10 * r + 8, places=6)
                self.assertAlmostEqual((asked + rounding + pageable) / p, predicted, delta=0.06)

    def test_pageable_memory_of_zero_offload(self):
        for whole in DEEPSPEED:
            with self.subTest(whole):
                p = int(whole) // SCALE
                self.assertEqual(self.zero_offload(p, "pageable"), (0, 0, 18 * p))

    def test_cached_pinned_block_is_counted_once(self):
        batch = 5 * MIB
        printed, process = self.run_one("use_pinned", str(batch), "cache")
        self.assertEqual(printed, f"in use 0 of {8 * MIB}\n")
        pinned = {row["role"]: row["bytes"] for row in rows_at_peak(process, "host", "live") if row["kind"] == "pinned"}
        self.assertEqual(pinned, {"unknown": batch, "rounding": 8 * MIB - batch})

    def test_pinned_rounding(self):
        """Sizes far above a power of two give a finding, exact powers of two give none."""
        for p, found in ((5 * MIB, ["pinned-rounding"]), (4 * MIB, [])):
            with self.subTest(p):
                _, process = self.run_one("use_pinned", str(p), "pinned")
                self.assertEqual([finding["id"] for finding in process["findings"]], found)
                for finding in process["findings"]:
                    # 20, 10 and 20 MiB are in 32, 16 and 32 MiB.
                    self.assertEqual(finding["bytes"], 30 * MIB)
                    self.assertIn("pinned_max_round_threshold_mb:1, so that only small blocks are rounded: -30.00 MiB",
                                  finding["remedy"])

    def test_pinned_cache(self):
        for how, found in (("held", [64 * MIB]), ("used", []), ("emptied", [])):
            with self.subTest(how):
                self.new_scratch()
                command = [harness.torch_python(), harness.program("pinned_cache.py"),
                           os.path.join(harness.FAKES, "libcudart.so.13"), how]
                done, report = self.trace(command, self.MORE)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                findings = self.only_process(report)["findings"]
                self.assertEqual([finding["bytes"] for finding in findings], found)
                for finding in findings:
                    self.assertEqual(finding["id"], "pinned-cache-held")
                    self.assertIn("pinned_cache.py", str(finding["site"]))

    def test_pinned_allocator_at_the_ends_of_phases(self):
        """Records its bytes in use and reserved if there is pinned memory; before, it is not queried."""
        command = [harness.torch_python(), harness.program("pinned_stats.py"),
                   os.path.join(harness.FAKES, "libcudart.so.13")]
        done, report = self.trace(command, {**self.MORE, "MEMTRACE_STACKS": "none"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        path = self.trace_files()[0]
        said = [record.words[:2] for record in rawtrace.read(path)[0]
                if record.type == "reserved" and record.flags >> 8 == 0]
        # At the ends of forward, backward and step. The end of `loss` is the begin of another phase.
        self.assertEqual(said, [(5 * MIB, 8 * MIB), (3 * MIB, 8 * MIB), (5 * MIB, 8 * MIB)])
        process = self.only_process(report)
        self.assertEqual(harness.peak(process, "host", "reserved"), 8 * MIB)


if __name__ == "__main__":
    unittest.main()
