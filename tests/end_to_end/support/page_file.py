# Purpose: reads the data of a page as a browser does, in plain Python, to compare it with the JSON.
import base64
import gzip
import json
import re
import struct

OLDER = 0xFFFFFFFF
SIZES = {"u8": 1, "u32": 4, "i64": 8}


class PageFile:
    def __init__(self, path):
        self.html = path.read_text()
        block = gzip.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', self.html).group(1)))
        (length,) = struct.unpack("<I", block[:4])
        directory = json.loads(block[4 : 4 + length])
        assert directory["format"] == "memtrace.page/1", directory["format"]
        self.sections, self.bytes = directory["sections"], block[4 + length :]
        self.page = json.loads(self.text("page"))
        self.documents = json.loads(self.text("documents"))
        ends = self.column("strings.offset")
        pool = bytes(self.column("strings.bytes"))
        self.strings = [pool[a:b].decode() for a, b in zip(ends, ends[1:])]

    def text(self, name):
        section = self.sections[name]
        return self.bytes[section["offset"] : section["offset"] + section["bytes"]].decode()

    def column(self, name):
        section = self.sections[name]
        size, count = SIZES[section["type"]], section["count"]
        assert section["bytes"] == size * count
        raw = self.bytes[section["offset"] : section["offset"] + section["bytes"]]
        values, before = [], 0
        bits = 8 * size
        for i in range(count):
            value = sum(raw[plane * count + i] << (8 * plane) for plane in range(size))
            if section.get("delta"):
                value = before = (before + value) % (1 << bits)
            if section["type"] == "i64" and value >= 1 << 63:
                value -= 1 << 64
            values.append(value)
        return values


class PageProcess:
    """The timeline of one process: levels and live blocks at each row, by replay."""

    def __init__(self, file, number):
        self.file, self.about, self.prefix = file, file.page["processes"][number], f"p{number}."
        self.classes = list(
            zip(*(self.column(f"class.{of}") for of in ("group", "memory", "given", "tensor")))
        )
        self.sampled = [flags & 2 for flags in self.column("group.flags")]

    def column(self, name):
        return self.file.column(self.prefix + name)

    def memory_number(self, lane):
        return 0 if lane["memory"] == "host" else int(lane["memory"].split(":")[1]) + 1

    def bytes_in(self, lane, klass):
        group, memory, given, tensor = self.classes[klass]
        if klass == 0 or memory != self.memory_number(lane) or self.sampled[group]:
            return 0
        return tensor if lane["measure"] == "tensor" else given

    def live_set(self, number):
        start = self.column("set.start")
        span = slice(start[number], start[number + 1])
        return dict(zip(self.column("set.class")[span], self.column("set.count")[span]))

    def replay(self, window):
        """Yields (time, levels by lane, blocks by class) after each row of a window."""
        first, last = window["first"], window["first"] + window["rows"]
        time, klass, ref, small = (self.column(f"row.{of}")[first:last] for of in ("time", "class", "ref", "small"))
        alive = self.live_set(window["set"])
        levels = list(window["levels"])
        lanes = self.about["lanes"]
        for i, number in enumerate(klass):
            sign = 1 if ref[i] == 0 else -1
            if ref[i] not in (0, OLDER):
                assert klass[i - ref[i]] == number and ref[i - ref[i]] == 0, i
            for at, lane in enumerate(lanes):
                levels[at] += sign * self.bytes_in(lane, number)
                if lane == {**lane, "memory": "host", "measure": "live"}:
                    levels[at] += small[i]
            if number != 0:
                alive[number] = alive.get(number, 0) + sign
                assert alive[number] >= 0, (i, number)
            yield time[i], levels, alive
