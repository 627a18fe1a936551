# Purpose: ranks that torch.multiprocessing starts, each with a loader worker; rank 1 keeps 16 MiB in each step.
import os
import sys

import torch
import torch.distributed as dist


class Items(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((256,), float(index))


def train(rank, world, address):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=world)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 1024))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    kept = []
    for x in torch.utils.data.DataLoader(Items(), batch_size=4, num_workers=1):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 1:
            kept.append(torch.ones(4 << 20))
    dist.destroy_process_group()


if __name__ == "__main__":
    world = int(sys.argv[1])
    torch.multiprocessing.spawn(train, (world, "file://" + os.path.abspath("rendezvous")), nprocs=world)
