"""Purpose: holds memory in one of the ways that RSS cannot distinguish, prints PyTorch's count, and ends at
once.

usage: ledger.py list|leak|checkpoint
"""
import gc
import io
import os
import sys
import time

import torch


def storages():
    """Returns the bytes of all tensors' storages, each counted once, by PyTorch's figures."""
    seen = {}
    for thing in gc.get_objects():
        if isinstance(thing, torch.Tensor) and thing.device.type == "cpu":
            storage = thing.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
    return sum(seen.values())


class Words(torch.utils.data.Dataset):
    """A Python list of many small strings and integers: in arenas of CPython, not in malloc."""

    def __init__(self):
        self.words = [f"word {i} of the corpus" for i in range(1_500_000)]
        self.numbers = [i * 1000 for i in range(1_500_000)]

    def __len__(self):
        return 512

    def __getitem__(self, i):
        return torch.full((256,), float(self.numbers[i] + len(self.words[i])))


def big_list():
    loader = torch.utils.data.DataLoader(Words(), batch_size=64, num_workers=2)
    total = sum(float(batch.sum()) for batch in loader)
    return [loader.dataset, total]


def training(steps, after_step):
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(12)])
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for step in range(steps):
        loss = model(torch.randn(256, 1024)).square().mean()
        loss.backward()
        optimizer.step()
        after_step(step, model, optimizer, loss)
        optimizer.zero_grad()
    return [model, optimizer]


def leak():
    kept, texts = [], []

    def remember(step, model, optimizer, loss):
        kept.append(loss)  # with its graph
        texts.append([str(i) * 3 for i in range(4096)])

    return [training(24, remember), kept, texts]


def checkpoint():
    files = []

    def save(step, model, optimizer, loss):
        file = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        files[:] = [file]

    return [training(10, save), files]


torch.manual_seed(0)
held = {"list": big_list, "leak": leak, "checkpoint": checkpoint}[sys.argv[1]]()
gc.collect()
time.sleep(0.3)
print(storages(), flush=True)
os._exit(0)  # before the interpreter frees memory
