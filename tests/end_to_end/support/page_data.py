"""Purpose: reads the data of an HTML page as a browser does, in plain Python, to compare it with the JSON."""
import base64
import gzip
import hashlib
import json
import re
import struct

OLDER = 0xFFFFFFFF  # the row is the death of a block that is older than its window
FORMATS = {"u8": "B", "u32": "I", "i64": "q"}


class PageData:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.html = file.read()
        data = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', self.html)
        block = gzip.decompress(base64.b64decode(data[1]))
        (length,) = struct.unpack_from("<I", block)
        directory = json.loads(block[4:4 + length])
        if directory["format"] != "memtrace.page/1":
            raise ValueError(directory["format"])
        self.sections, self.bytes = directory["sections"], block[4 + length:]
        self.page, self.documents = json.loads(self.raw("page")), json.loads(self.raw("documents"))
        self.processes = [Timeline(self, number) for number in range(len(self.page["processes"]))]

    def raw(self, name):
        section = self.sections[name]
        return self.bytes[section["offset"]:section["offset"] + section["bytes"]]

    def column(self, name):
        section, raw = self.sections[name], self.raw(name)
        form, count = FORMATS[section["type"]], section["count"]
        size = struct.calcsize("<" + form)
        if len(raw) != size * count:
            raise ValueError(f"{name}: {len(raw)} bytes for {count} elements of {size}")
        planes = [raw[plane * count:(plane + 1) * count] for plane in range(size)]
        values = struct.unpack(f"<{count}{form}", bytes(byte for element in zip(*planes) for byte in element))
        if not section.get("delta"):
            return list(values)
        out, now = [], 0
        for value in values:
            now += value
            out.append(now)
        return out

    def sources(self, kind):
        """Returns the hash that the policy allows for `script` or `style`, and the hash of the page's own."""
        allowed = re.search(rf"{kind}-src 'sha256-([^']*)'", self.html)[1]
        text = re.findall(rf"<{kind}>(.*?)</{kind}>", self.html, re.DOTALL)[-1]
        return allowed, base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


class Timeline:
    """One process of a page: levels and blocks, by replay of the rows."""

    def __init__(self, data, number):
        self.data, self.prefix = data, f"p{number}."
        self.about = data.page["processes"][number]
        self.lanes = self.about["lanes"]
        self.classes = list(zip(*(self.column(f"class.{of}") for of in ("group", "memory", "given", "tensor"))))
        self.groups = {of: self.column(f"group.{of}") for of in ("leaf", "role", "kind", "flags", "band")}

    def column(self, name):
        return self.data.column(self.prefix + name)

    def lane(self, memory, measure):
        return next(at for at, lane in enumerate(self.lanes) if (lane["memory"], lane["measure"]) == (memory, measure))

    def bytes_of(self, lane, number, sampled=False):
        """Returns the bytes of one block of a class in a lane; of a sampled one only if `sampled`."""
        group, memory, given, tensor = self.classes[number]
        here = 0 if lane["memory"] == "host" else 1 + int(lane["memory"].split(":")[1])
        if number == 0 or memory != here or (self.groups["flags"][group] & 2 and not sampled):
            return 0
        return tensor if lane["measure"] == "tensor" else given

    def alive_in_set(self, number):
        start = self.column("set.start")
        span = slice(start[number], start[number + 1])
        return dict(zip(self.column("set.class")[span], self.column("set.count")[span]))

    def replay(self, window):
        """Yields the time, the levels by lane and the blocks by class after each row of a window."""
        span = slice(window["first"], window["first"] + window["rows"])
        times, classes, refs, small = (self.column(f"row.{of}")[span] for of in ("time", "class", "ref", "small"))
        values = [[self.bytes_of(lane, number) for lane in self.lanes] for number in range(len(self.classes))]
        small_in = [(lane["memory"], lane["measure"]) == ("host", "live") for lane in self.lanes]
        alive, levels = self.alive_in_set(window["set"]), list(window["levels"])
        for i, number in enumerate(classes):
            sign = 1 if refs[i] == 0 else -1
            if refs[i] not in (0, OLDER) and (classes[i - refs[i]], refs[i - refs[i]]) != (number, 0):
                raise ValueError(f"row {i} ends another block")
            for at, value in enumerate(values[number]):
                levels[at] += sign * value + (small[i] if small_in[at] else 0)
            if number:
                alive[number] = alive.get(number, 0) + sign
                if alive[number] < 0:
                    raise ValueError(f"row {i} ends a block that is not alive")
            yield times[i], levels, alive

    def highest(self, lane):
        """Returns the highest level of a lane at the rows, its time, and the bytes by (role, kind) then."""
        best, when, held = -1, None, {}
        for window in self.about["windows"]:
            for time, levels, alive in self.replay(window):
                if levels[lane] > best:
                    best, when, held = levels[lane], time, dict(alive)
        return best, when, self.by_role(lane, held)

    def by_role(self, lane, alive):
        roles, kinds, sums = self.data.page["roles"], self.data.page["kinds"], {}
        for number, blocks in alive.items():
            group = self.classes[number][0]
            key = roles[self.groups["role"][group]], kinds[self.groups["kind"][group]]
            bytes_held = blocks * self.bytes_of(self.lanes[lane], number, sampled=True)
            if bytes_held:
                sums[key] = sums.get(key, 0) + bytes_held
        return sums
