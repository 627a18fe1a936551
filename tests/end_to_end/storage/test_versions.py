"""Purpose: tests that a trace names the memtrace that wrote it, and what a command does with one of a newer version."""
import re
import subprocess
import unittest

import harness
import rawtrace
import rawwriter

VERSION_AT, SIZE_AT, CHECKSUM_AT = 4, 8, 12
NEWER = 4


def cut(data):
    """Returns the segments of a trace file."""
    out, at = [], 0
    while at < len(data):
        size = rawtrace.SEGMENT.size + int.from_bytes(data[at + SIZE_AT:at + SIZE_AT + 4], "little")
        out.append(data[at:at + size])
        at += size
    return out


def newer(segment, text=None):
    """Returns a segment as a memtrace with the next version of the format would write it: its coding is unknown."""
    header, payload = bytearray(segment[:rawtrace.SEGMENT.size]), segment[rawtrace.SEGMENT.size:]
    payload = text or bytes(byte ^ 0x5A for byte in payload)
    header[VERSION_AT:VERSION_AT + 2] = NEWER.to_bytes(2, "little")
    header[SIZE_AT:SIZE_AT + 4] = len(payload).to_bytes(4, "little")
    header[CHECKSUM_AT:CHECKSUM_AT + 4] = bytes(4)
    header[CHECKSUM_AT:CHECKSUM_AT + 4] = rawwriter.crc32c(header, payload).to_bytes(4, "little")
    return bytes(header) + payload


class Versions(harness.Case):
    def setUp(self):
        super().setUp()
        self.trace([harness.victim("marks")], {"MEMTRACE_MIN_PEAK": "0"})
        self.path = self.trace_files()[0]
        with open(self.path, "rb") as file:
            self.segments = cut(file.read())

    def run_report(self, segments, *options):
        with open(self.path, "wb") as file:
            file.write(b"".join(segments))
        done = subprocess.run([harness.COMMAND, "report", self.path, *options], env=harness.bare_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_the_trace_names_its_memtrace(self):
        said = subprocess.run([harness.COMMAND, "--version"], capture_output=True, check=True, timeout=60).stdout
        self.assertEqual(f"memtrace {rawtrace.writer(self.path)}\n", said.decode())
        self.assertEqual(self.only_process(self.report())["trace"]["written_by"], rawtrace.writer(self.path))

    def test_newer_segments_are_left_out_in_one_line(self):
        first, *others, last = self.segments
        status, text, said = self.run_report([newer(first, b"0.3.0"), *others, newer(last)])
        self.assertEqual(status, 0, said)
        self.assertRegex(said, rf"^memtrace: {re.escape(self.path)}: 1 of {len(others) + 1} segments \(0\.\d\d MiB\) is "
                               rf"of trace version {NEWER} \(written by memtrace 0\.3\.0\), which this version does not "
                               r"read; install memtrace 0\.3\.0 or later\n$")
        self.assertTrue(text)

    def test_a_newer_trace_is_refused_in_one_line(self):
        first, *others = self.segments
        status, text, said = self.run_report([newer(first, b"0.3.0"), *map(newer, others)])
        self.assertEqual((status, text), (2, ""))
        self.assertEqual(said, f"memtrace: {self.path}: at byte {VERSION_AT}: expected trace version 3, found {NEWER}, "
                               "written by memtrace 0.3.0; install memtrace 0.3.0 or later\n")


if __name__ == "__main__":
    unittest.main()
