"""Two steps of data parallel training over gloo. The rank in the last argument kills itself before them."""
import os
import signal
import sys

import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 1024))
optimizer = torch.optim.AdamW(model.parameters())
if sys.argv[1:] == [str(rank)]:
    os.kill(os.getpid(), signal.SIGKILL)
for _ in range(2):
    model(torch.ones(8, 1024)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.distributed.barrier()
if rank == 0:
    print("trained on", torch.distributed.get_world_size(), flush=True)
torch.distributed.destroy_process_group()
