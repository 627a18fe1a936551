"""Job: the tests' own reader of traces is right about the coding, before it judges others."""
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
        self.assertEqual(rawtrace.LAYOUTS[1], "wwwhhh")
        self.assertEqual(rawtrace.KINDS[1], "heap")

    def test_deltas(self):
        first = bytes([1, 0x80 | 0b1001]) + coded(1000) + bytes([1, 0, 0]) + coded(4096) + coded(7) + coded(-3)
        second = bytes([1, 0b0001]) + coded(-5) + coded(16)
        births = list(rawtrace.decode(first + second, 2, (3, 1, 40)))
        self.assertEqual([(b.stamp, b.kind, b.words[0], b.sequence, b.thread) for b in births],
                         [(1000, 1, 4096, 40, 3), (995, 1, 4112, 41, 3)])
        self.assertEqual(births[1].words[3], 7 | (1 << 32) - 3 << 32)

    def test_what_is_left_over_is_an_error(self):
        with self.assertRaises(ValueError):
            list(rawtrace.decode(bytes([0, 0, 0, 0]), 1, (0, 0, 0)))

    def test_shapes(self):
        self.assertEqual((rawtrace.SEGMENT.size, rawtrace.RECORD.size), (64, 64))
        self.assertEqual(struct.calcsize("<6Q"), 48)


if __name__ == "__main__":
    unittest.main()
