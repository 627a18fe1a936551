"""Purpose: trains in two ranks; each reads the data set and takes its part by a DistributedSampler.

Thread: imoneoi/openchat#230
Question: A data set of 25 GB takes 150 GB in each rank, 1.2 TB with eight. Can the ranks have it once?
Answer: Each rank reads the whole data set, though it trains on its part of it. One copy in shared memory or a
  memory-mapped file is enough.
Finding: rank-copies
Needs: torch, numpy
Run: ranks=2
"""
import os
import sys

import numpy
import torch
import torch.distributed as distributed

MENDED = "--mended" in sys.argv
ROWS, ROW = 4000, 6 << 10


def main():
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    if rank == 0:
        numpy.save("table.npy", numpy.random.default_rng(0).random((ROWS, ROW), dtype=numpy.float32))
    distributed.barrier()
    table = numpy.load("table.npy", mmap_mode="r" if MENDED else None)  # CAUSE
    sampler = torch.utils.data.DistributedSampler(range(ROWS), shuffle=True)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for chosen in torch.tensor(list(sampler)).split(100):
        model(torch.from_numpy(table[chosen.numpy(), :64])).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    if rank == 0:
        print("truth", ranks * ROWS * ROW * 4)
    distributed.destroy_process_group()


main()
