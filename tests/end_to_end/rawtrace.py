"""Job: read a trace by docs/trace-format.md alone, sharing no code with the recorder or the analyzer.

A second reader, so that a mistake which writer and reader have in common does not go unseen. It is slow and
trusts its input.
"""
import os
import re
import struct
from collections import namedtuple

NAMES = os.path.join(os.path.dirname(__file__), "..", "..", "preload", "format", "names.def")
SEGMENT = struct.Struct("<4sHBBIIIIQQQQQ")
RECORD = struct.Struct("<IBBHQ6Q")
SLOT = struct.Struct("<IIQQQQQQII")
PAGE = 4096
RING_RECORDS = 2048
SLOT_BYTES = PAGE + RING_RECORDS * RECORD.size

Record = namedtuple("Record", "thread sequence source stamp type kind flags words")
TENSOR, NO_ACCESS, RANGE = 1, 2, 4


def read_names():
    with open(NAMES, encoding="utf-8") as file:
        text = file.read()
    events = re.findall(r'^EVENT\((\w+), "(\w{6})"\)', text, re.M)
    kinds = re.findall(r"^KIND\((\w+)\)", text, re.M)
    return [name for name, _ in events], [layout for _, layout in events], kinds


EVENTS, LAYOUTS, KINDS = read_names()


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def delta(data, at):
    value, at = varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def decode(payload, count, head):
    thread, source, sequence = head
    last = [[0, 0, [0] * 6] for _ in EVENTS]
    stamp = at = 0
    for i in range(count):
        code, mask = payload[at], payload[at + 1]
        step, at = delta(payload, at + 2)
        stamp = (stamp + step) & (1 << 64) - 1
        state = last[code]
        if mask & 0x80:
            state[0] = payload[at]
            state[1] = payload[at + 1] | payload[at + 2] << 8
            at += 3
        words = state[2]
        for w, layout in enumerate(LAYOUTS[code]):
            if not mask >> w & 1:
                continue
            if layout == "w":
                change, at = delta(payload, at)
                words[w] = (words[w] + change) & (1 << 64) - 1
            elif layout == "h":
                low, at = delta(payload, at)
                high, at = delta(payload, at)
                words[w] = (words[w] + low & 0xFFFFFFFF) | ((words[w] >> 32) + high & 0xFFFFFFFF) << 32
            else:
                words[w] = int.from_bytes(payload[at:at + 8], "little")
                at += 8
        yield Record(thread, sequence + i, source, stamp, EVENTS[code], state[0], state[1], tuple(words))
    if at != len(payload):
        raise ValueError(f"segment of thread {thread}: {len(payload) - at} bytes left over")


def segments(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at + SEGMENT.size <= len(data):
        (magic, version, source, _, size, _, thread, count, sequence, *_) = SEGMENT.unpack_from(data, at)
        start = at + SEGMENT.size
        if magic != b"MTS\x02" or version != 2 or start + size > len(data):
            at = data.find(b"MTS\x02", at + 1)  # a torn segment: the next one
            if at < 0:
                return
            continue
        yield from decode(data[start:start + size], count, (thread, source, sequence))
        at = start + size


def rings(path):
    """What is in the rings and not yet in a segment; a file that is gone has nothing."""
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        data = file.read()
    for base in range(PAGE, len(data) - SLOT_BYTES + 1, SLOT_BYTES):
        thread, tid, _, sequence, *_ = SLOT.unpack_from(data, base)
        while tid:
            commit, code, kind, flags, stamp, *words = RECORD.unpack_from(
                data, base + PAGE + sequence % RING_RECORDS * RECORD.size)
            if commit != (sequence + 1) & 0xFFFFFFFF:
                break
            yield Record(thread, sequence, 1, stamp, EVENTS[code], kind, flags, tuple(words))
            sequence += 1


def read(path):
    """All records of a trace once, in order of their stamps, and the number of sequence gaps."""
    seen, records = set(), []
    for record in [*segments(path), *rings(re.sub(r"\.memtrace$", ".rings", path))]:
        key = (record.thread, record.source, record.sequence)
        if key not in seen:
            seen.add(key)
            records.append(record)
    gaps = 0
    highest = {}
    for thread, source, sequence in sorted(seen):
        gaps += sequence - highest.get((thread, source), sequence - 1) - 1
        highest[thread, source] = sequence
    records.sort(key=lambda record: record.stamp)
    return records, gaps
