"""Purpose: ranks in two pipeline stages, the first with an embedding of 128 MiB. One rank holds a second copy of 96 MiB.

One rank ends itself by SIGKILL in step 4. Arguments: the rank with the copy, and the rank that dies; "mesh" names the
grid to PyTorch.
"""
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn

MIB = 1 << 20
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
different, dies = int(sys.argv[1]), int(sys.argv[2])
if "mesh" in sys.argv:
    from torch.distributed.device_mesh import init_device_mesh
    init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("pp", "dp"))
if rank < world // 2:
    embedding = torch.ones(32 * MIB)
if rank == different:
    copied = torch.ones(24 * MIB)
model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))
optimizer = torch.optim.AdamW(model.parameters())
for step in range(7):
    batch = torch.randn(64, 512)
    loss = (model(batch) - batch).square().mean()
    loss.backward()
    if rank == dies and step == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
