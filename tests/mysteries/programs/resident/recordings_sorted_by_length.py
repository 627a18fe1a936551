"""Purpose: extracts features of recordings that are sorted by length, and keeps the features.

Thread: 1bit-MONSTER/1bit-MONSTER#1440
Question: Host RSS creeps up with each item that is processed, though each temporary buffer is freed. Where is the leak?
Answer: No leak: glibc's heap is fragmented. Freed buffers lie between blocks that live on, so the top of the heap never
  falls. A buffer that is made once and used each time removes the growth.
Finding: retention-growth
Needs: numpy
Pattern: recordings and their features stand for the rows of logits and the small blocks of a GPU's driver; each buffer
  is a little longer than the last, so no hole is large enough for it
"""
import ctypes
import os
import sys

import numpy

MENDED = "--mended" in sys.argv
RECORDINGS, BINS = 2400, 4
libc = ctypes.CDLL(None)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) << 12


def given_back_by_trim():
    """Returns the resident bytes that malloc_trim gives back to the kernel; a child tries it."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        before = resident()
        libc.malloc_trim(0)
        os.write(write_end, str(before - resident()).encode())
        os._exit(0)
    return int(os.read(read_end, 32))


def lengths():
    return numpy.sort(numpy.random.default_rng(0).integers(2000, 8000, size=RECORDINGS))


def spectrum(length, buffer):
    out = numpy.empty((length, BINS), dtype=numpy.float32) if buffer is None else buffer[:length]  # CAUSE
    out[:] = numpy.arange(BINS)
    return out


def features(of):
    energy = of.max(axis=1, keepdims=True)
    return numpy.concatenate([of, energy], axis=1)  # CAUSE


longest = numpy.empty((8000, BINS), dtype=numpy.float32) if MENDED else None
kept = []
for recording in lengths():
    for _ in range(8):
        numpy.fft.rfft(numpy.ones(1024))
    kept.append(features(spectrum(recording, longest)))
print("truth", given_back_by_trim())
