"""Purpose: two ranks over NCCL whose process groups take memory of known sizes. They are the default one, `tp` with
three channels, and `pp` of the rank alone. A thread of NCCL takes most of it.

Prints a line for each rank: the bytes of each group, by the documented sizes of the stand-in for NCCL.
usage: two_groups.py eager|lazy
"""
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn

BOOKKEEPING = 1 << 20  # tests/cuda_node/nccl_memory.h
BUFFER = int(os.environ["NCCL_BUFFSIZE"])
CHANNELS = {"default_pg": 1, "tp": 3, "pp": 2}


def options(name):
    chosen = dist.ProcessGroupNCCL.Options()
    chosen.config.max_ctas = CHANNELS[name]
    return chosen


def main():
    torch.set_num_threads(1)
    card = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(card)
    dist.init_process_group("nccl", device_id=card if sys.argv[1] == "eager" else None)
    rank = dist.get_rank()
    tp = dist.new_group([0, 1], group_desc="tp", pg_options=options("tp"))
    pp = [dist.new_group([one], group_desc="pp", pg_options=options("pp")) for one in (0, 1)][rank]
    ones = torch.ones(1000, device=card)
    dist.all_reduce(ones)
    functional.all_reduce(ones, "sum", tp).cpu()
    if sys.argv[1] == "eager":
        pp.allreduce([ones]).wait()  # no Python frame has the group: the communicator's own thread has it
    else:
        dist.broadcast(ones, rank, group=pp)
    nn.Linear(8, 8).cuda()(torch.ones(1, 8).cuda()).sum().backward()
    torch.cuda.synchronize()
    said = {"rank": rank, "groups": {name: BOOKKEEPING + BUFFER * count for name, count in CHANNELS.items()}}
    os.write(1, (json.dumps(said) + "\n").encode())
    dist.destroy_process_group()


main()
