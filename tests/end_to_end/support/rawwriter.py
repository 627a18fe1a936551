"""Purpose: writes traces by docs/trace-format.md alone, as small as the coding allows: bombs for the analyzer.

It shares the model of rawtrace.py, but no code with the recorder.
"""
import struct

import rawtrace
from rawtrace import EVENTS, LAYOUTS, M64, NOTHING, SEGMENT, Model

TRACE_ID = 0x626F6D62
MAX_PAYLOAD = 1 << 20
COLD, RING, DEFINITIONS = 0, 1, 2
FIRST_STAMP = 1_000_000_000

TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(*parts):
    value = 0xFFFFFFFF
    for part in parts:
        for byte in part:
            value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def halves(low, high):
    return low | high << 32


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value, bits=64):
    """Returns the shortest code of a difference, modulo 2 to the power of `bits`."""
    value &= (1 << bits) - 1
    if value >> bits - 1:
        value -= 1 << bits
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def coded_word(layout, value, base):
    if layout == "w":
        return zigzag(value - base)
    if layout == "a":
        turned = [(word >> 4 | word << 60) & M64 for word in (value, base)]
        return zigzag(turned[0] - turned[1])
    if layout == "h":
        return zigzag((value & 0xFFFFFFFF) - (base & 0xFFFFFFFF), 32) + zigzag((value >> 32) - (base >> 32), 32)
    return value.to_bytes(8, "little")


def coded(record, model):
    """Returns one coded record, (stamp, type, kind, flags, words), by the values that the model expects. Deaths
    do not name a birth."""
    stamp, name, kind, flags, words = record
    words = tuple(words) + (0,) * (6 - len(words))
    code = EVENTS.index(name)
    mask = 0
    head = b""
    if model.guesses.get(model.slot(), NOTHING)[0] != code:
        mask |= 0x40
        head += bytes([code])
    head += zigzag(stamp - model.stamp)
    _, base_kind, base_flags, base, _ = model.base(code)
    first, body = 0, b""
    if name == "death":
        first = 1
        mask |= 1
        head += varint(0) + coded_word("a", words[0], base[0])
    if (kind, flags) != (base_kind, base_flags):
        mask |= 0x80
        head += struct.pack("<BH", kind, flags)
    if name == "stack":
        before = model.last.get(code, NOTHING)[3][0] & 0xFFFFFFFF
        base = list(model.frames.get(flags & 1, (0,) * 6))
        base[0] = halves(before + 1 & 0xFFFFFFFF, before)
    for i in range(first, 6):
        if words[i] != base[i]:
            mask |= 1 << i
            layout = "h" if name == "stack" and flags & 1 and i == 1 else LAYOUTS[code][i]
            body += coded_word(layout, words[i], base[i])
    model.stamp = stamp
    model.learn(code, kind, flags, words, 0)
    return bytes([mask]) + head + body


def segment(records, thread, source=RING, first_sequence=0):
    """Returns as few segments as the limit of a payload allows; each can be read alone."""
    out, done = [], 0
    while done < len(records) or not out:
        model, payload, count = Model(), bytearray(), 0
        while done + count < len(records) and len(payload) < MAX_PAYLOAD - 128:
            payload += coded(records[done + count], model)
            count += 1
        part = records[done:done + count]
        types = 0
        for record in part:
            types |= 1 << EVENTS.index(record[1])
        fields = [b"MTS\x02", 3, source, 0, len(payload), 0, thread, count, first_sequence + done,
                  part[0][0] if part else 0, part[-1][0] if part else 0, types & M64, TRACE_ID]
        fields[5] = crc32c(SEGMENT.pack(*fields), payload)
        out.append(SEGMENT.pack(*fields) + bytes(payload))
        done += count
    return b"".join(out)


class Bomb:
    """Collects records of threads in the order of the calls, and the texts of ids."""

    def __init__(self):
        self.stamp = FIRST_STAMP
        self.threads = {}
        self.definitions = []
        self.texts = 0
        self.stacks = 0
        self.define("process", 0, (halves(7, 1), 1_700_000_000 * 10**9, halves(self.text(b"/bin/bomb"), 0), 0, 4096,
                                   halves(524288, 4096)))

    def define(self, name, flags, words):
        self.definitions.append((FIRST_STAMP, name, 0, flags, words))

    def text(self, content, bytes_in_all=None):
        """Returns an id of `content`, repeated until it has `bytes_in_all` bytes."""
        self.texts += 1
        left = bytes_in_all or len(content)
        while left > 0:
            chunk = content[:min(40, left)]
            left -= len(chunk)
            self.define("text", len(chunk) | (0x100 if left > 0 else 0),
                        (self.texts,) + struct.unpack("<5Q", chunk.ljust(40, b"\0")))
        return self.texts

    def frame(self, caller, address):
        self.stacks += 1
        self.define("stack", 0, (halves(self.stacks, caller), address))
        return self.stacks

    def put(self, name, words=(), kind=0, flags=0, thread=0):
        self.stamp += 1
        self.threads.setdefault(thread, []).append((self.stamp, name, kind, flags, words))
        return self

    def birth(self, address, size, stack=0, thread=0):
        return self.put("birth", (address, size, size, stack), kind=rawtrace.KINDS.index("heap"), thread=thread)

    def begin(self, text, thread=0):
        return self.put("phase_begin", (text,), flags=1, thread=thread)

    def end(self, text, thread=0):
        return self.put("phase_end", (text,), flags=0, thread=thread)

    def bytes(self):
        out = [segment(self.definitions, 0, DEFINITIONS)]
        out += [segment(records, thread) for thread, records in self.threads.items()]
        return b"".join(out)
