"""Purpose: trains, and writes a checkpoint by way of a buffer, as a library does that also knows cloud storage.

Thread: Lightning-AI/pytorch-lightning#21823
Question: Saving a checkpoint needs twice its size of host memory. Why?
Answer: The checkpoint is first serialized into a BytesIO, and the bytes are then written to the file. torch.save can
  write to the open file.
Finding: serialize-in-memory
Needs: torch
Run: limit=760M
"""
import io
import os
import sys

import torch

MENDED = "--mended" in sys.argv
LAYERS, WIDTH = 6, 2048


def save(state, path):
    with open(path, "wb") as file:
        if MENDED:
            torch.save(state, file)
            return
        buffer = io.BytesIO()
        torch.save(state, buffer)  # CAUSE
        print("truth", sys.getsizeof(buffer), flush=True)
        buffer.seek(0)
        file.write(buffer.read())
    os.replace(path, "last.ckpt")


torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(3):
    model(torch.randn(8, WIDTH)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.tmp")
