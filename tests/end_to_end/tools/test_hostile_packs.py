"""Purpose: tests that a packed file that is cut off, damaged or crafted is refused, or read as far as it is whole."""
import json
import os
import subprocess
import tarfile
import unittest

import packs
from harness import COMMAND, bare_environment
from pack_case import Pack


class Hostile(Pack):
    def setUp(self):
        super().setUp()
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image")), "--killed"],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        with open(self.packed, "rb") as file:
            self.content = file.read()
        self.entries = list(packs.members(self.packed).items())

    def written(self, content):
        path = os.path.join(self.scratch, "hostile.zst")
        with open(path, "wb") as file:
            file.write(content)
        return path

    def crafted(self, entries):
        return self.written(packs.stored(packs.tar_of(entries)))

    def test_a_crafted_file_is_read_if_nothing_is_wrong(self):
        self.assertEqual(self.memtrace("report", self.crafted(self.entries))[0],
                         self.memtrace("report", self.packed)[0])

    def test_truncated(self):
        """What came is read, and a line says so. Without a whole trace, one line says why not."""
        read = 0
        for size in [*range(0, 64), *range(64, len(self.content), len(self.content) // 40)]:
            path = self.written(self.content[:size])
            done = subprocess.run([COMMAND, "report", path], env=bare_environment(), capture_output=True, check=False,
                                  timeout=60)
            said = done.stderr.decode()
            self.assertIn(done.returncode, (0, 2), said)
            self.assertIn(path, said)
            self.assertEqual(done.returncode == 2, done.stdout == b"")
            if size > 4 and done.returncode == 0:
                self.assertRegex(said, r"the packed file ends early; \d+ of its \d+ files are whole")
                read += 1
        stored = packs.stored(packs.tar_of(self.entries))
        names = stored.rindex(b".symbols")  # in the header of the last member
        self.assertIn("ends early", self.memtrace("report", self.written(stored[:names + 1000]))[1])
        cut = self.written(stored[:names + 1000])
        said = self.memtrace("unpack", cut, "-o", os.path.join(self.scratch, "cut"), status=1)[1]
        self.assertIn("ends early", said)
        columns = stored.index(b".memtrace.columns", 1000)
        said = self.memtrace("report", self.written(stored[:columns + 1000]), status=2)[1]
        self.assertIn("expected a trace in the packed file, but the file ends", said)
        self.assertIn("ends early", self.memtrace("report", self.crafted(self.entries[:-1]))[1])

    def test_damaged(self):
        for at in range(4, len(self.content), len(self.content) // 60):
            changed = bytearray(self.content)
            changed[at] ^= 0x55
            self.refused(self.written(bytes(changed)), "expected")

    def test_wrong_magic_and_wrong_content(self):
        self.refused(self.written(b"\x28\xb5\x2f\xfe" + self.content[4:]), "expected a memtrace trace")
        self.refused(self.written(packs.stored(b"x" * 1000)), "expected the header of a file in a tar archive")
        self.refused(self.crafted(self.entries[1:]), "expected pack.json, the first file of a packed trace")
        self.refused(self.crafted([("pack.json", b'{"schema": "memtrace.pack/9"}'), *self.entries[1:]]),
                     "expected the schema memtrace.pack/2")
        self.refused(self.crafted(self.entries[:1]), "expected a trace in the packed file")
        nothing = [("pack.json", b'{"schema": "memtrace.pack/1", "members": []}')]
        self.refused(self.crafted(nothing), "no trace in this packed file")

    def test_columns_that_are_none(self):
        """Each byte of the columns counts, in a file without a checksum of its own."""
        at = next(i for i, (name, _) in enumerate(self.entries) if name.endswith(".memtrace.columns"))
        name, columns = self.entries[at]
        for position in [0, 4, *range(8, len(columns), len(columns) // 60)]:
            changed = bytearray(columns)
            changed[position] ^= 0x55
            self.refused(self.crafted([*self.entries[:at], (name, bytes(changed)), *self.entries[at + 1:]]),
                         "expected the columns of a trace")
        self.refused(self.crafted([*self.entries[:at], (name, columns[:-1]), *self.entries[at + 1:]]),
                     "expected the columns of a trace")
        self.refused(self.crafted([*self.entries, (name.removesuffix(".columns"), b"")]), "expected each name once")

    def test_a_file_of_the_first_schema(self):
        """The traces of an older memtrace are members as they are."""
        folder = os.path.join(self.scratch, "unpacked")
        self.memtrace("unpack", self.packed, "-o", folder)
        listed = {"schema": "memtrace.pack/1", "memtrace": "0.1.0", "redacted": False, "members": os.listdir(folder)}
        entries = [("pack.json", json.dumps(listed).encode())]
        for name in listed["members"]:
            with open(os.path.join(folder, name), "rb") as file:
                entries.append((name, file.read()))
        self.assertEqual(self.memtrace("report", self.crafted(entries))[0], self.memtrace("report", self.packed)[0])

    def test_names_and_types(self):
        for name in ("../x.memtrace", "/tmp/x.memtrace", "a/x.memtrace", "..", ".hidden", "x\n.memtrace"):
            self.refused(self.crafted([*self.entries, (name, b"")]), "expected a plain name of a file")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            link = tarfile.TarInfo("x.memtrace")
            link.type, link.linkname = kind, "/etc/passwd"
            self.refused(self.crafted([*self.entries, (link, b"")]), "expected a regular file")
        self.refused(self.crafted([*self.entries, self.entries[1]]), "expected each name once")

    def test_bombs(self):
        """A frame of 3 MiB that holds 100 GiB of zeros in a member, and one that says so without having it."""
        info = tarfile.TarInfo("x.memtrace")
        info.size = (8 << 30) - 1
        head = packs.tar_of(self.entries[:1])[:1024] + info.tobuf(tarfile.USTAR_FORMAT)
        first = packs.stored(head)
        bomb = bytearray(first)
        bomb[6] &= 0xFE  # the first block is not the last
        self.refused(self.written(bytes(bomb) + packs.zeros(1) * 800_000), "expected at most")
        self.refused(self.written(first), "expected at most")

    def test_a_window_that_would_take_too_much_memory(self):
        self.refused(self.written(packs.ZSTD_MAGIC + bytes([0x00, 0x98]) + self.content[6:]), "too much memory")


if __name__ == "__main__":
    unittest.main()
