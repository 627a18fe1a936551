"""Purpose: merges an adapter into a network and writes the merged weights.

Thread: shootthesound/Fizgig#143
Question: Saving a checkpoint raises MemoryError on a machine on which the training fits.
Answer: Beside a second copy of the weights, safetensors turns the tensors into bytes in memory before they are
    written. Write them one tensor at a time.
Finding: serialize-in-memory
Needs: torch
"""
import os
import sys
import tempfile

import safetensors.torch
import torch
from torch import nn

MENDED = "--mended" in sys.argv
LAYERS, WIDTH, RANK = 12, 1024, 8


def merge(model):
    with torch.no_grad():
        for layer in model:
            layer.weight += torch.randn(WIDTH, RANK) @ torch.randn(RANK, WIDTH) * 1e-3


def save(weights, path):
    if MENDED:
        safetensors.torch.save_file(weights, path)
        return
    payload = safetensors.torch.save(weights)  # CAUSE
    with open(path, "wb") as file:
        file.write(payload)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    merge(model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "merged.safetensors")
        save(model.state_dict(), path)
        print("wrote", os.path.getsize(path), "bytes")
    # The library's buffer and the bytes object that it copies from it.
    print("truth", 2 * LAYERS * WIDTH * WIDTH * 4)


main()
