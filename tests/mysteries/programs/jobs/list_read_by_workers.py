"""Purpose: reads a long list of file names and labels in the workers of a DataLoader.

Thread: pytorch/pytorch#13246
Question: Memory grows through an epoch, in each worker, until the machine has none left. The data set only reads from a
  Python list.
Answer: Reading an object of a list changes its reference count. So each page of the list's objects, which the worker
  shared with its parent, is copied when it is first read. An array has no counts for its items.
Finding: copy-on-write-growth
Needs: torch, numpy
"""
import sys

import numpy
import torch

MENDED = "--mended" in sys.argv
NAMES, BATCH, WORKERS = 1_200_000, 20_000, 2


def pages_of(objects):
    """Returns the bytes of the pages that hold the objects: reading them writes to all of these pages."""
    return len({id(one) >> 12 for one in objects}) << 12


class Files(torch.utils.data.Dataset):
    def __init__(self):
        folder = "/data/imagenet/ILSVRC/Data/CLS-LOC/train"
        names = [f"{folder}/class_{i % 1000:04}/image_{i:08}.JPEG" for i in range(NAMES)]  # CAUSE
        self.names = numpy.array(names, dtype=numpy.bytes_) if MENDED else names

    def __len__(self):
        return NAMES

    def __getitem__(self, i):
        return len(self.names[i])  # CAUSE


files = Files()
loader = torch.utils.data.DataLoader(files, batch_size=BATCH, shuffle=True, num_workers=WORKERS, collate_fn=sum)
for total in loader:
    pass
print("truth", WORKERS * pages_of(files.names))
