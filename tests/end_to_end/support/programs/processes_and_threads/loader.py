"""Purpose: a DataLoader of two workers, one of which keeps all its items, 16 MiB each. The OOM killer chooses
that worker first. It prints its pid.

An item takes 20 ms at least, like one that is read and decoded. At full speed, 2 GiB a second, the last
sample before the kill was 175 MiB short.
"""
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

KEPT = []


def begin_worker(number):
    if number == 1:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
        print(os.getpid(), flush=True)


class Items(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        item = torch.ones(4 << 20)
        if get_worker_info().id == 1:
            KEPT.append(item)
        time.sleep(0.02)
        return item[:16].clone()


if __name__ == "__main__":
    for batch in DataLoader(Items(), batch_size=1, num_workers=2, worker_init_fn=begin_worker):
        assert batch.sum() == 16
