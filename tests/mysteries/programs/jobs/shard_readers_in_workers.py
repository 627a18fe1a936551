"""Purpose: streams samples of many shards; the data set has a reader object for each shard.

Thread: mosaicml/streaming#652
Question: Out of memory after a while of training. Memory of the workers grows from batch to batch, but only with a data
  set of very many shards.
Answer: The data set holds a list of plain Python objects, one for each shard. A worker that reads one writes to its
  count of references, so it copies the page. The other metadata is in shared memory and is not copied.
Finding: copy-on-write-growth
Needs: torch, numpy
"""
import random
import sys

import numpy
import torch

MENDED = "--mended" in sys.argv
SHARDS, SAMPLES, BATCH, WORKERS = 220_000, 600_000, 5_000, 2


class Reader:
    def __init__(self, number):
        self.name = f"shard.{number:07}.mds"  # CAUSE
        self.raw = {"basename": self.name, "bytes": 1 << 20 | number, "hashes": {}}  # CAUSE
        self.columns = ["text", "tokens"]  # CAUSE

    def offset(self, sample):
        return (sample * 977) % self.raw["bytes"] + len(self.name)


def pages_of(objects):
    """Returns the bytes of the pages that hold the objects: reading them writes to all of these pages."""
    return len({id(one) >> 12 for one in objects}) << 12


class Stream(torch.utils.data.Dataset):
    def __init__(self):
        self.readers = [Reader(number) for number in range(SHARDS)] if not MENDED else None  # CAUSE
        self.sizes = numpy.arange(SHARDS) | 1 << 20

    def __len__(self):
        return SAMPLES

    def __getitem__(self, sample):
        shard = sample % SHARDS
        if MENDED:
            return int((sample * 977) % self.sizes[shard])
        return self.readers[shard].offset(sample)  # CAUSE

    def touched(self):
        for reader in self.readers:
            yield from (reader, reader.name, reader.raw, reader.raw["bytes"])


stream = Stream()
shuffled = random.Random(0).sample(range(SAMPLES), SAMPLES)
loader = torch.utils.data.DataLoader(stream, batch_size=BATCH, sampler=shuffled, num_workers=WORKERS, collate_fn=sum)
for offsets in loader:
    pass
print("truth", 0 if MENDED else WORKERS * pages_of(stream.touched()))
