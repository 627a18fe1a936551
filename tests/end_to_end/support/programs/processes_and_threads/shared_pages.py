"""Purpose: workers share pages of a file and of their parent, and write to some. Prints the kernel's figures of
all processes.

usage: shared_pages.py
"""
import mmap
import os
import time

import torch

MIB = 1 << 20
PATH = os.path.join(os.getcwd(), "shared.bin")


def figures():
    """Returns the number of processes and the sums of Pss and Rss in bytes, of this process and its children.
    """
    me = os.getpid()
    with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as file:
        pids = [me] + [int(word) for word in file.read().split()]
    sums = {"Pss": 0, "Rss": 0}
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                words = line.split()
                if words[0].rstrip(":") in sums:
                    sums[words[0].rstrip(":")] += int(words[1]) * 1024
    return len(pids), sums["Pss"], sums["Rss"]


class Items(torch.utils.data.Dataset):
    def __init__(self):
        self.tensor = torch.ones(100 * MIB // 4)
        with open(PATH, "wb") as file:
            for _ in range(100):
                file.write(os.urandom(MIB))
        with open(PATH, "rb") as file:
            self.file = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

    def __len__(self):
        return 240

    def __getitem__(self, i):
        total = sum(self.file[at] for at in range(0, len(self.file), 4096))
        self.tensor[: 5 * MIB].add_(1)  # 20 MiB become the worker's own
        time.sleep(0.05)
        return torch.tensor(float(total))


if __name__ == "__main__":
    highest = (0, 0, 0)
    for _ in torch.utils.data.DataLoader(Items(), batch_size=2, num_workers=3):
        highest = max(highest, figures())
    print(*highest)
