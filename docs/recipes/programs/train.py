"""Purpose: a training that takes seconds, data parallel over gloo, for torchrun, mpirun, srun and a container.

Rank 0 keeps the output of each step, 4 MiB, for a plot that it never draws. Alone, the process is rank 0 of 1.
usage: train.py [STEPS]
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn


def of_launcher(*names, default):
    """Returns the first of these variables that the launcher set."""
    return int(next((os.environ[name] for name in names if name in os.environ), default))


rank = of_launcher("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", default=0)
size = of_launcher("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", default=1)
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")  # torchrun sets both
os.environ.setdefault("MASTER_PORT", "29511")
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=size)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 512)))
optimizer = torch.optim.AdamW(model.parameters())
outputs = []
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
    batch = torch.randn(2048, 512)
    output = model(batch)
    loss = (output - batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if rank == 0:
        outputs.append(output.detach())
dist.barrier()  # without it, some runs abort in the destruction of gloo
dist.destroy_process_group()
print(f"rank {rank} of {size}: loss {loss.item():.3f}")
