"""Purpose: compares PyTorch's caching allocator of GPU memory with its own figures, on the CUDA node."""
import json
import unittest

import cuda_node
import harness
import rawtrace

MIB = harness.MIB


def kinds_at_peak(process):
    return {row["kind"] for entry in process["peaks"] if (entry["memory"], entry["measure"]) == ("cuda:0", "live")
            for row in entry["at_peak"]}


class Segments(cuda_node.Case):
    def segments(self, kept):
        """Returns the segments of the report, and its findings; PyTorch's snapshot is the truth."""
        printed, process = self.trace_python("cuda_allocator.py", "segments", str(kept))
        truth = json.loads(printed)
        peak = next(entry for entry in process["peaks"]
                    if (entry["memory"], entry["measure"]) == ("cuda:0", "reserved"))
        segments = peak["segments"]
        self.assertEqual((peak["bytes"], segments["bytes"]), (truth["reserved"], truth["reserved"]))
        self.assertEqual((segments["in_blocks"], segments["unused"]),
                         (truth["allocated"], truth["reserved"] - truth["allocated"]))
        self.assertEqual(segments["count"], len(truth["segments"]))
        self.assertEqual(sorted((one["bytes"], one["in_blocks"]) for one in segments["most_unused"]),
                         sorted((total, allocated) for total, allocated in truth["segments"]))
        return segments, process["findings"]

    def test_fragmentation(self):
        """Nine segments of 1 GiB, each kept by a block of 600 MiB, when the tenth is made."""
        segments, found = self.segments(600)
        self.assertEqual((segments["count"], segments["unused_beside_blocks"], segments["empty"]),
                         (10, 9 * 424 * MIB, 0))
        self.assertEqual([(finding["id"], finding["memory"], finding["bytes"]) for finding in found],
                         [("device-fragmentation", "cuda:0", 9 * 424 * MIB)])
        self.assertIn("expandable_segments:True: up to -3816.00 MiB", found[0]["remedy"])
        self.assertEqual(found[0]["site"]["id"], segments["most_unused"][0]["site"]["id"])
        text = " ".join(self.report_text("--memory", "cuda:0").split())
        self.assertIn("its allocator held 10.00 GiB at most, outside training: 6.27 GiB in blocks, unused 3816.00 MiB in "
                      "9 segments beside blocks", text)
        self.assertIn("9 424.00 1024.00 1 other", text)

    def test_no_fragmentation(self):
        """As above, but the remaining blocks fill the segments."""
        segments, found = self.segments(1024)
        self.assertEqual((segments["unused"], found), (0, []))


class Blocks(cuda_node.Case):
    def blocks(self, settings=""):
        """Returns PyTorch's counters and the process."""
        printed, process = self.trace_python("cuda_allocator.py", "blocks", more={"PYTORCH_ALLOC_CONF": settings} if settings else None)
        truth = json.loads(printed)
        for measure in ("tensor", "reserved"):
            self.assertEqual(harness.peak(process, "cuda:0", measure), truth[measure], measure)
        return truth, process

    def test_segments(self):
        truth, process = self.blocks()
        self.assertEqual(kinds_at_peak(process), {"device"})
        flows = [sum(row[flow] for row in process["phases"] if row["memory"] == "cuda:0")
                 for flow in ("allocated", "freed")]
        self.assertEqual(flows[0], truth["reserved"])
        self.assertEqual(flows[0] - flows[1], truth["reserved_at_end"])

    def test_expandable_segments(self):
        """The allocator calls the driver through a table of its functions."""
        _, process = self.blocks("expandable_segments:True")
        self.assertEqual(kinds_at_peak(process), {"device_vmm"})

    def test_asynchronous_backend(self):
        """cudaMallocAsync's blocks are tensors if PyTorch's allocator requests them; the reserved bytes are the pool's."""
        truth, process = self.blocks("backend:cudaMallocAsync")
        self.assertEqual(harness.peak(process, "cuda:0", "live"), truth["tensor"])
        last = [record.words[1] for record in rawtrace.read(self.trace_files()[0])[0] if record.type == "reserved"][-1]
        self.assertEqual(last, truth["reserved_at_end"])

    def test_out_of_memory(self):
        truth, _ = self.blocks()
        found = [(record.words[0], rawtrace.KINDS[record.kind], record.flags & rawtrace.TENSOR,
                  record.words[1] & 0xFFFFFFFF, record.words[4], record.words[5])
                 for record in rawtrace.read(self.trace_files()[0])[0] if record.type == "failure"]
        # The driver refuses twice, because PyTorch retries with an empty cache; then the tensor fails.
        refused = (1 << 40, "device", 0, 2, truth["free"], truth["total"])
        self.assertEqual(found, [refused, refused, (1 << 40, "none", rawtrace.TENSOR, *refused[3:])])


if __name__ == "__main__":
    unittest.main()
