"""Purpose: caches decoded images in the data set, so that only the first epoch decodes them.

Thread: OML-Team/open-metric-learning#106
Question: The cache of the data set takes several times the memory that it should. Why?
Answer: Each process has a data set of its own, and so a cache of its own: the memory is multiplied.
Finding: worker-copies
Needs: torch
Pattern: workers of a loader stand for the ranks of the thread
"""
import sys

import torch

MENDED = "--mended" in sys.argv
IMAGES, SIDE, WORKERS, EPOCHS = 96, 512, 2, 12


class Images(torch.utils.data.Dataset):
    def __init__(self):
        self.cache = {}
        if MENDED:
            self.store = torch.empty(IMAGES, 3, SIDE, SIDE, dtype=torch.uint8).share_memory_()
            self.ready = torch.zeros(IMAGES, dtype=torch.bool).share_memory_()

    def __len__(self):
        return IMAGES

    def decoded(self, i):
        return torch.full((3, SIDE, SIDE), i, dtype=torch.uint8)  # CAUSE

    def __getitem__(self, i):
        if MENDED:
            if not self.ready[i]:
                self.store[i] = self.decoded(i)
                self.ready[i] = True
            return self.store[i].float().mean()
        if i not in self.cache:
            self.cache[i] = self.decoded(i)  # CAUSE
        return self.cache[i].float().mean()


torch.manual_seed(0)
loader = torch.utils.data.DataLoader(Images(), batch_size=8, shuffle=True, num_workers=WORKERS, persistent_workers=True)
for epoch in range(EPOCHS):
    seen = sum(len(batch) for batch in loader)
print("truth", WORKERS * IMAGES * 3 * SIDE * SIDE)
