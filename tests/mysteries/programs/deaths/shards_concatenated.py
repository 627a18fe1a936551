"""Purpose: reads the shards of a data set and joins them, in a container with memory for one and a half of it.

Thread: numpy/numpy#13279
Question: Joining large arrays fails for lack of memory, although all of them were in memory before.
Answer: concatenate makes a new array and copies all parts into it, so both exist at once. One array that is made first,
  with the shards read into it, needs half.
Finding: oom-kill
Needs: numpy
Run: limit=480M
"""
import sys

import numpy

MENDED = "--mended" in sys.argv
SHARDS, ROWS, ROW = 10, 4096, 2048


def read(number):
    return numpy.load(f"shard{number}.npy")  # CAUSE


for number in range(SHARDS):
    numpy.save(f"shard{number}.npy", numpy.full((ROWS, ROW), number, dtype=numpy.float32))
print("truth", SHARDS * ROWS * ROW * 4, flush=True)
if MENDED:
    rows = numpy.empty((SHARDS * ROWS, ROW), dtype=numpy.float32)
    for number in range(SHARDS):
        rows[number * ROWS:(number + 1) * ROWS] = read(number)
else:
    rows = numpy.concatenate([read(number) for number in range(SHARDS)])  # CAUSE
print(rows.mean())
