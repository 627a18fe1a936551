"""Purpose: tests the coding in the tests' own reader of traces, because other tests rely on it."""
import struct
import unittest

import rawtrace


def coded(value):
    value = value << 1 if value >= 0 else (-value << 1) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


class Reader(unittest.TestCase):
    def test_names_are_read(self):
        self.assertEqual(rawtrace.EVENTS[:3], ["none", "birth", "death"])
        self.assertEqual(rawtrace.LAYOUTS[1], "awwhhh")
        self.assertEqual(rawtrace.KINDS[1], "heap")

    def test_deltas(self):
        first = bytes([0xC0 | 0b1001, 1]) + coded(1000) + bytes([1, 0, 0]) + coded(256) + coded(7) + coded(-3)
        second = bytes([0x40 | 0b0001, 1]) + coded(-5) + coded(1)
        death = bytes([0xC0 | 0b0001, 2]) + coded(1) + bytes([2]) + bytes([1, 0, 0])
        *births, died = rawtrace.decode(first + second + death, 3, (3, 1, 40), rawtrace.Model())
        self.assertEqual([(b.stamp, b.kind, b.words[0], b.sequence, b.thread) for b in births],
                         [(1000, 1, 4096, 40, 3), (995, 1, 4112, 41, 3)])
        self.assertEqual(births[1].words[3], 7 | (1 << 32) - 3 << 32)
        self.assertEqual((died.type, died.words[0]), ("death", 4096))

    def test_what_is_left_over_is_an_error(self):
        with self.assertRaises(ValueError):
            list(rawtrace.decode(bytes([0x40, 0, 0, 0]), 1, (0, 0, 0), rawtrace.Model()))

    def test_shapes(self):
        self.assertEqual((rawtrace.SEGMENT.size, rawtrace.RECORD.size), (64, 64))
        self.assertEqual(struct.calcsize("<6Q"), 48)


if __name__ == "__main__":
    unittest.main()
