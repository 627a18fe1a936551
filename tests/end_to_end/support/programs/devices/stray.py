"""Purpose: two ranks over NCCL, each with a GPU of its own. Rank 1 may put tensors on the GPU of rank 0 first.

usage: stray.py early|load|own FILE, where
  early  rank 1 makes 64 MiB on the current GPU before it sets its own
  load   both ranks load a checkpoint of 64 MiB without map_location
  own    both load it to their own GPU

Prints a line for each rank: PyTorch's counters of both GPUs.
"""
import json
import os
import sys

import torch
import torch.distributed as dist

MIB = 1 << 20


def main():
    how, path = sys.argv[1:]
    torch.set_num_threads(1)
    rank = int(os.environ["LOCAL_RANK"])
    kept = [torch.ones(16 * MIB).cuda()] if how == "early" and rank == 1 else []
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    if how != "early":
        if rank == 0:
            torch.save({"weight": torch.ones(16 * MIB, device="cuda:0")}, path)
        dist.barrier()
        kept.append(torch.load(path, map_location=None if how == "load" else f"cuda:{rank}"))
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(24)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(8, 1024, device="cuda")).sum().backward()
        optimizer.step()
    dist.barrier()
    said = {"rank": rank, "pid": os.getpid(), "kept": len(kept),
            "gpus": [{name: torch.cuda.memory_stats(gpu).get(f"{name}_bytes.all.peak", 0)
                      for name in ("allocated", "reserved")} for gpu in range(torch.cuda.device_count())]}
    os.write(1, (json.dumps(said) + "\n").encode())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
