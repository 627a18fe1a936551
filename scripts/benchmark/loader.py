"""A DataLoader with two workers that make images, and a small convolution that trains on them. Run by scripts/bench. Says
what the steps took of this process's CPU time and of its workers', which end with them; without the import.
"""
import resource
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.rand(3, 96, 96, generator=generator)
        image = image[:, 8:72, 8:72].flip(2)  # a crop and a flip, as augmentation does
        return (image - image.mean()) / image.std(), index % 10


def cpu():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 31 * 31, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    began, began_cpu = time.monotonic(), cpu()
    steps = 0
    for images, labels in DataLoader(Images(int(sys.argv[1])), batch_size=32, num_workers=2):
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    print(f"bench: steps={steps} steps_cpu={cpu() - began_cpu:.6f} steps_wall={time.monotonic() - began:.6f}",
          flush=True)
    print(f"loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
