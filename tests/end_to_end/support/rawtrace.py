"""Purpose: reads a trace by docs/trace-format.md alone, and shares no code with the recorder or the analyzer.

A second reader detects mistakes that the writer and the first reader share. It is slow and trusts its input.
"""
import os
import re
import struct
from collections import namedtuple

NAMES = os.path.join(os.path.dirname(__file__), "..", "..", "..", "preload", "format", "event_names.def")
SEGMENT = struct.Struct("<4sHBBIIIIQQQQQ")
RECORD = struct.Struct("<IBBHQ6Q")
SLOT = struct.Struct("<IIQQQQQQII")
PAGE = 4096
SNAPSHOT = 3
KEYFRAME = 5
WRITER = 4
CHUNK = 16 * 1024
SLOT_RECORDS = 8
SLOT_BYTES = SLOT.size + SLOT_RECORDS * RECORD.size
FIRST_SLOTS, BATCH_SLOTS = (CHUNK - PAGE) // SLOT_BYTES, CHUNK // SLOT_BYTES
SLOTS_AT = 28  # offset of the number of slots in the header of a ring file
BATCHES_AT = 1368  # offset of the number of chunks that hold them

Record = namedtuple("Record", "thread sequence source stamp type kind flags words")
TENSOR, NO_ACCESS, RANGE, SAMPLED = 1, 2, 4, 16
CONTINUES = 2


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


M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
CONTEXTS, BIRTHS = 2048, 2048
NOTHING = (None, 0, 0, (0,) * 6, 0)  # type, kind, flags, words, distance


class Model:
    """The values that the writer expected next; preload/format/record_coding.h says what is coded against them.
    """

    def __init__(self):
        self.stamp = 0
        self.context = (0, 0)
        self.guesses = {}
        self.last = {}
        self.frames = {}
        self.births = []

    def slot(self):
        return ((self.context[1] * GOLDEN + self.context[0]) * GOLDEN & M64) >> 53

    def base(self, code):
        guess = self.guesses.get(self.slot(), NOTHING)
        return guess if guess[0] == code else self.last.get(code, NOTHING)

    def learn(self, code, kind, flags, words, distance):
        name = EVENTS[code]
        guess = (code, kind, flags, words, distance)
        self.guesses[self.slot()] = self.last[code] = guess
        trait = 0
        if name == "stack":
            self.frames[flags & 1] = words
        elif name == "birth":
            self.births.append((words[0], words[1], kind, flags))
            trait = ((words[3] & 0xFFFFFFFF) * 31 & 0xFFFFFFFF) + words[1]
        elif name == "move":
            self.births.append((words[1], words[2], kind, flags))
            trait = words[5] & 0xFFFFFFFF
        elif name == "death":
            trait = words[1]
        elif name in ("phase_begin", "phase_end"):
            trait = words[0]
        self.context = (self.context[1], code * 0x100000001B3 & M64 ^ trait & M64)


def address(data, at, base):
    change, at = delta(data, at)
    turned = ((base >> 4 | base << 60) & M64) + change & M64
    return (turned << 4 | turned >> 60) & M64, at


def word_of(layout, data, at, base):
    if layout == "w":
        change, at = delta(data, at)
        return base + change & M64, at
    if layout == "a":
        return address(data, at, base)
    if layout == "h":
        low, at = delta(data, at)
        high, at = delta(data, at)
        return (base + low & 0xFFFFFFFF) | ((base >> 32) + high & 0xFFFFFFFF) << 32, at
    return int.from_bytes(data[at:at + 8], "little"), at + 8


def decode(payload, count, head, model):
    thread, source, sequence = head
    at = 0
    for i in range(count):
        mask = payload[at]
        at += 1
        code = model.guesses.get(model.slot(), NOTHING)[0]
        if mask & 0x40:
            code = payload[at]
            at += 1
        step, at = delta(payload, at)
        model.stamp = model.stamp + step & M64
        _, kind, flags, words, distance = model.base(code)
        words, name, first = list(words), EVENTS[code], 0
        if name == "death":
            first = 1
            if mask & 1:
                distance, at = varint(payload, at)
                if distance == 0:
                    words[0], at = address(payload, at, words[0])
            if distance:
                words[0], words[1], kind, flags = model.births[-distance]
        if mask & 0x80:
            kind, flags = payload[at], payload[at + 1] | payload[at + 2] << 8
            at += 3
        python = name == "stack" and flags & 1
        if name == "stack":
            before = model.last.get(code, NOTHING)[3][0] & 0xFFFFFFFF
            words = list(model.frames.get(flags & 1, (0,) * 6))
            words[0] = (before + 1 & 0xFFFFFFFF) | before << 32
        for w in range(first, 6):
            if mask >> w & 1:
                layout = "h" if python and w == 1 else LAYOUTS[code][w]
                words[w], at = word_of(layout, payload, at, words[w])
        words = tuple(words)
        model.learn(code, kind, flags, words, distance if name == "death" else 0)
        yield Record(thread, sequence + i, source, model.stamp, name, kind, flags, words)
    if at != len(payload):
        raise ValueError(f"segment of thread {thread}: {len(payload) - at} bytes left over")


def segments(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    models = {}
    while at + SEGMENT.size <= len(data):
        (magic, version, source, flags, size, _, thread, count, sequence, *_) = SEGMENT.unpack_from(data, at)
        start = at + SEGMENT.size
        if magic != b"MTS\x02" or version != 3 or start + size > len(data):
            at = data.find(b"MTS\x02", at + 1)  # a torn segment: search for the next one
            if at < 0:
                return
            continue
        if source in (WRITER, KEYFRAME):  # a text, no records
            at = start + size
            continue
        if not flags & CONTINUES:
            models[thread, source] = Model()
        yield from decode(data[start:start + size], count, (thread, source, sequence), models[thread, source])
        at = start + size


def writer(path):
    """Returns the version of memtrace that the trace file names; None if it names none."""
    with open(path, "rb") as file:
        data = file.read()
    magic, _, source, _, size, *_ = SEGMENT.unpack_from(data)
    return data[SEGMENT.size:SEGMENT.size + size].decode() if (magic, source) == (b"MTS\x02", WRITER) else None


def rings(path):
    """Returns the events in the rings that are not yet in a segment. A missing file has none."""
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        data = file.read()
    for base in slots(data):
        thread, tid, _, sequence, *_, ring, _ = SLOT.unpack_from(data, base)
        at, size = (base + SLOT.size, SLOT_RECORDS) if ring == 0 else (CHUNK * (ring >> 8), 1 << (ring & 0xFF))
        while tid:
            commit, code, kind, flags, stamp, *words = RECORD.unpack_from(data, at + sequence % size * RECORD.size)
            if commit != (sequence + 1) & 0xFFFFFFFF:
                break
            yield Record(thread, sequence, 1, stamp, EVENTS[code], kind, flags, tuple(words))
            sequence += 1


def slots(data):
    """Returns the offset of each slot of a ring file."""
    (count,) = struct.unpack_from("<I", data, SLOTS_AT)
    for i in range(count):
        if i < FIRST_SLOTS:
            yield PAGE + i * SLOT_BYTES
        else:
            batch, within = divmod(i - FIRST_SLOTS, BATCH_SLOTS)
            (chunk,) = struct.unpack_from("<H", data, BATCHES_AT + 2 * batch)
            yield chunk * CHUNK + within * SLOT_BYTES


def windows(path):
    """Returns the windows beside a trace file, in order: number, the records of the snapshot, the records after
    it."""
    out = []
    for i in range(4):
        name = re.sub(r"\.memtrace$", f".window-{i}", path)
        if os.path.exists(name):
            records = list(segments(name))
            first = [record for record in records if record.source == SNAPSHOT]
            out.append((first[0].words[0] & 0xFFFFFFFF, first, [r for r in records if r.source != SNAPSHOT]))
    return sorted(out)


def read(path):
    """Returns all records of a trace once, in the order of their stamps, and the number of sequence gaps."""
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


def texts(records):
    """Returns the text of each id, from the records of one trace in the order of their threads."""
    out = {}
    for record in records:
        if record.type == "text":
            number = record.words[0] & 0xFFFFFFFF
            out[number] = out.get(number, b"") + struct.pack("<5Q", *record.words[1:6])[:record.flags & 0xFF]
    return {number: text.decode(errors="replace") for number, text in out.items()}
