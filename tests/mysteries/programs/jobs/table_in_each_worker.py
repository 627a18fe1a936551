"""Purpose: reads a table lazily in a data set, as is the advice for files that cannot be shared between processes.

Thread: jingyaogong/minimind-v#121
Question: The table has 4 GB, and eight workers of the DataLoader take 33 GB. Why?
Answer: Each worker reads the whole table into its own memory. A memory-mapped file is shared by all of them.
Finding: worker-copies
Needs: torch, numpy
Pattern: an array of numpy stands for the pyarrow table
"""
import os
import sys

import numpy
import torch

MENDED = "--mended" in sys.argv
ROWS, ROW, WORKERS = 3000, 8 << 10, 2


class Table(torch.utils.data.Dataset):
    def __init__(self, path):
        self.path, self.rows = path, None

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        if self.rows is None:
            self.rows = numpy.load(self.path, mmap_mode="r" if MENDED else None)  # CAUSE
        return torch.tensor(self.rows[i])


numpy.save("table.npy", numpy.random.default_rng(0).random((ROWS, ROW), dtype=numpy.float32))
model = torch.nn.Linear(ROW, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for rows in torch.utils.data.DataLoader(Table("table.npy"), batch_size=60, shuffle=True, num_workers=WORKERS):
    model(rows).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("truth", WORKERS * ROWS * ROW * 4)
