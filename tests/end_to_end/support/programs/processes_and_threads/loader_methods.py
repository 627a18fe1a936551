"""Runs a loader of two workers that are started in one of the ways of multiprocessing. Prints the pid of this process,
then those of its workers, as the loader knows them.

usage: loader_methods.py fork|spawn|forkserver PREFETCH parent|worker|objects
parent: the data are in the data set. worker: each worker reads 64 MiB of its own. objects: the workers read a long list
that is in the process they are forked from: this one, or the forkserver.
"""
import multiprocessing
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

ITEM = 15 << 18  # numbers: 15 MiB. With a prefetch of 1, four batches are alive at most: 60 MiB, no finding
ITEMS = 24


class Items(Dataset):
    def __init__(self, lazy):
        self.data = None if lazy else self.read()

    @staticmethod
    def read():
        return torch.ones(16 << 20)

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        if self.data is None:
            self.data = self.read()
        return torch.full((ITEM,), float(index)) * self.data[index]


class Names(Dataset):
    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        import long_list
        time.sleep(0.1)
        return torch.tensor(float(sum(map(len, long_list.NAMES[index::ITEMS]))))


def wait_until_ahead(batches):
    """Waits until the workers have put all batches into the queue that the loader has asked for."""
    until = time.monotonic() + 100
    while time.monotonic() < until:
        not_taken = sum(len(info) == 1 for info in batches._task_info.values())
        if batches._data_queue.qsize() >= not_taken:
            return
        time.sleep(0.05)


def main():
    method, ahead, where = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["torch"] + ["long_list"] * (where == "objects"))
    elif where == "objects":
        import long_list
        assert long_list.NAMES
    items = Names() if where == "objects" else Items(where == "worker")
    batches = iter(DataLoader(items, batch_size=1, num_workers=2, prefetch_factor=ahead, multiprocessing_context=context))
    print(os.getpid(), *[worker.pid for worker in batches._workers], flush=True)
    for number, _ in enumerate(batches):
        if number == 0 and where != "objects":
            wait_until_ahead(batches)


if __name__ == "__main__":
    main()
