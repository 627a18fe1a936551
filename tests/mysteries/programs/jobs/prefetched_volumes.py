"""Purpose: trains on large volumes that the workers of a DataLoader load in advance.

Thread: pytorch/pytorch#25643
Question: With 32 GB of RAM and batches of video, more workers end in an out-of-memory error. Why does each worker take
  so much?
Answer: Each worker loads `prefetch_factor` batches in advance, so the batches that wait take workers x factor x size.
Finding: loader-prefetch
Needs: torch
"""
import sys
import time

import torch

MENDED = "--mended" in sys.argv
VOLUMES, BYTES, WORKERS = 28, 8 << 20, 2
AHEAD = 1 if MENDED else 10


class Volumes(torch.utils.data.Dataset):
    def __len__(self):
        return VOLUMES

    def __getitem__(self, i):
        return torch.full((BYTES // 4,), float(i))


loader = torch.utils.data.DataLoader(Volumes(), batch_size=1, num_workers=WORKERS, prefetch_factor=AHEAD)  # CAUSE
model = torch.nn.Conv1d(1, 1, 9, stride=8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
for volume in loader:  # CAUSE
    model(volume.view(1, 1, -1)[:, :, :1 << 18]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.15)
print("truth", (WORKERS * AHEAD + 1) * BYTES)  # those that wait, and the one in use
