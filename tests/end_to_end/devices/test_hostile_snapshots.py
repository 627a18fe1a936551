"""Purpose: tests damaged and hostile memory snapshots of PyTorch, and changed ones that are good."""
import json
import os
import pickle
import unittest

import harness
from snapshots import BASE, PROTOCOLS, Snapshots, frames, real, training


def changed(value, chance):
    """The snapshot with its segments, blocks and keys in another order, some left out, freed, moved or renamed."""
    segments = [one for one in value["segments"] if chance.random() < 0.9] or value["segments"][:1]
    chance.shuffle(segments)
    up = chance.randrange(1 << 20) << 21
    for segment in segments:
        segment["address"] += up
        segment["frames"] = []
        for block in segment["blocks"]:
            block["address"] += up
            if chance.random() < 0.2:
                block["state"] = chance.choice(("inactive", "active_allocated"))
            for frame in block.get("frames", []):
                if chance.random() < 0.1:
                    frame["name"], frame["line"] = chance.choice(("f", "<lambda>", "\u00e4" * 9)), chance.randrange(1 << 20)
        if chance.random() < 0.3:
            chance.shuffle(segment["blocks"])
    value["segments"] = segments
    items = list(value.items())
    chance.shuffle(items)
    return dict(items)


class Hostile(Snapshots):
    def test_other_pickles(self):
        self.assert_refused(pickle.dumps([1, 2]), r'expected PyTorch\'s memory snapshot.* but the pickle holds a list$')
        self.assert_refused(pickle.dumps({"a": 1}), r"the pickle holds a dict without a list of that name$")
        self.assert_refused(pickle.dumps({"segments": 3}), r"without a list of that name$")
        self.assert_refused(pickle.dumps({"segments": [{"address": "x"}]}),
                            r"expected a number as the address of a segment, but found a text$")
        self.assert_refused(pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1}]]}),
                            r"expected a number as the size of an event, but found None$")
        self.assert_refused(pickle.dumps({"segments": [{"address": 1, "total_size": 1, "device": 1 << 40}]}),
                            r"expected a device below")

    def test_objects_are_not_loaded(self):
        made = os.path.join(self.scratch, "made")

        class Runs:
            def __reduce__(self):
                return os.mkdir, (made,)
        for protocol in PROTOCOLS:
            self.assert_refused(pickle.dumps({"segments": [Runs()]}, protocol),
                                "holds an object of class posix.mkdir, which memtrace does not load")
        self.assertFalse(os.path.exists(made))

    def test_truncated_at_every_byte(self):
        content = pickle.dumps(training().value())
        for size in range(2, len(content), 1 if harness.ALL else 17):
            done = self.run_on(self.write(content[:size]))
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), (size, done))

    def test_lists_that_are_used_many_times(self):
        """1,000 traces of the same 1,000 events, and a segment 10,000 times with the same 10,000 blocks."""
        value = training().value()
        value["device_traces"] = [value["device_traces"][0] * 100] * 200
        self.assert_refused(pickle.dumps(value), "expected at most one use of each list in a snapshot")
        value = training().value()
        value["segments"][0]["blocks"] *= 10_000
        value["segments"] *= 10_000
        self.assert_refused(pickle.dumps(value), "expected at most one use of each list in a snapshot")

    def test_deep_and_long(self):
        deep = b"\x80\x04" + b"]" * 1_000_000 + b"a" * 999_999 + b"."
        self.assert_refused(deep, "but the pickle holds a list$")
        self.assert_refused(b"\x80\x04" + b"]" * 60_000_000 + b".", "holds more than|MiB")

    def test_values_at_their_limits(self):
        """Sums of such sizes wrap around; the command ends as always."""
        most = (1 << 63) - 1
        snapshot = training()
        for at in (0, most - BASE):
            for action in ("segment_alloc", "alloc", "free_requested", "free_completed", "segment_free", "segment_map",
                           "segment_unmap", "oom"):
                snapshot.event(action, at, most)
        snapshot.segment(0, most, [(0, most), (most - BASE, most)])
        snapshot.now = most - 1000
        snapshot.event("alloc", 5, 5)
        done = self.run_on(self.write(pickle.dumps(snapshot.value())))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_mutated(self):
        chance = harness.chance(54)
        contents = [pickle.dumps(training().value(), protocol) for protocol in PROTOCOLS[1:]]
        contents.append(real("expandable")[0])
        for _ in range(10_000 if harness.ALL else 500):
            content = bytearray(chance.choice(contents))
            for _ in range(chance.choice((1, 1, 2, 5))):
                at = chance.randrange(2, len(content))
                kind = chance.randrange(4)
                if kind == 0:
                    content[at] = chance.randrange(256)
                elif kind == 1:
                    content[at] ^= 1 << chance.randrange(8)
                elif kind == 2:
                    del content[at:at + chance.randrange(1, 20)]
                else:
                    content[at:at] = content[(start := chance.randrange(2, len(content))):start + chance.randrange(1, 40)]
            path = self.write(bytes(content))
            done = self.run_on(path, "--format", "json")
            if done.returncode not in (0, 2) or (done.returncode == 2) != (done.stderr.count(b"\n") == 1):
                kept = os.path.join("/tmp", "memtrace-mutated.pickle")
                with open(kept, "wb") as file:
                    file.write(content)
                self.fail(f"{kept}: status {done.returncode}: {done.stderr[-300:]}")
            if done.returncode == 0:
                json.loads(done.stdout)

    def test_values_and_order_changed(self):
        """Other values in another order are as good a snapshot: its totals are those of Python's unpickler."""
        chance = harness.chance(55)
        contents = [real(name)[0] for name in ("train", "all", "expandable", "oom")]
        for number in range(1000 if harness.ALL else 50):
            snapshot = {**pickle.loads(chance.choice(contents)), "device_traces": [[]]}
            content = pickle.dumps(changed(snapshot, chance), chance.choice(PROTOCOLS[1:]))
            done = self.run_on(self.write(content), "--format", "json")
            self.assertEqual((done.returncode, done.stderr), (0, b""), number)
            segments = pickle.loads(content)["segments"]
            process = self.only_process(json.loads(done.stdout))
            self.assertEqual(self.peak(process, "reserved"), sum(one["total_size"] for one in segments), number)
            self.assertEqual(self.peak(process), sum(block["size"] for one in segments for block in one["blocks"]
                                                     if block["state"] == "active_allocated"), number)


if __name__ == "__main__":
    unittest.main()
