"""Runs a loader of two workers with items of 16 MiB. 64 MiB of data are in the parent, or in each worker.

usage: ahead.py PREFETCH parent|worker
"""
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

ITEM = 4 << 20  # numbers


class Items(Dataset):
    def __init__(self, lazy):
        self.data = None if lazy else self.read()

    @staticmethod
    def read():
        return torch.ones(16 << 20)

    def __len__(self):
        return 24

    def __getitem__(self, index):
        if self.data is None:
            self.data = self.read()
        return torch.full((ITEM,), float(index)) * self.data[index]


if __name__ == "__main__":
    ahead, where = int(sys.argv[1]), sys.argv[2]
    loader = DataLoader(Items(where == "worker"), batch_size=1, num_workers=2, prefetch_factor=ahead)
    for number, batch in enumerate(loader):
        assert batch.shape == (1, ITEM)
        if number == 0:
            time.sleep(1)  # until the workers have prefetched all that they may
