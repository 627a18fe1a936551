"""Purpose: iterates over the rows of a memory-mapped Arrow file, and measures RSS.

Thread: huggingface/datasets#4883
Question: RSS grows with each row that is read from the data set, though no row is kept. Is it a leak of pyarrow?
Answer: The file is memory-mapped, and RSS counts its pages that were read. The kernel takes them back when another
  process needs memory; pyarrow's own pool has nothing allocated.
Finding: page-cache-not-memory
Needs: numpy, pyarrow
Pattern: pyarrow's own reader stands for `datasets`, as in the smallest program of the thread
"""
import os
import sys
import zlib

import numpy
import pyarrow

MENDED = "--mended" in sys.argv
ROWS, ROW = 400, 1 << 20


def write(path):
    schema = pyarrow.schema([("text", pyarrow.binary())])
    line = numpy.random.default_rng(0).bytes(ROW)
    with pyarrow.OSFile(path, "wb") as sink, pyarrow.ipc.new_stream(sink, schema) as writer:
        for _ in range(ROWS):
            writer.write_batch(pyarrow.record_batch([[line]], schema=schema))


def opened(path):
    if MENDED:
        return pyarrow.ipc.open_stream(pyarrow.OSFile(path))
    return pyarrow.ipc.open_stream(pyarrow.memory_map(path)).read_all().to_batches()  # CAUSE


write("train.arrow")
batches = opened("train.arrow")
for epoch in range(6):
    checksum = 0
    for batch in opened("train.arrow") if MENDED else batches:
        checksum = zlib.crc32(batch.column("text")[0].as_py(), checksum)  # CAUSE
print("truth", os.path.getsize("train.arrow"))
