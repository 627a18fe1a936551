"""Purpose: two ranks over NCCL, each with a GPU of its own: collectives with known results, then training by DDP or FSDP2.

Prints a line for each rank: what came of the collectives, and PyTorch's counters of its GPU. usage: two_ranks.py ddp|fsdp
The values are made on the host and read there, because no kernel computes on the CUDA node.
"""
import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

WIDTH, LAYERS, STEPS = 1024, 6, 4
ELEMENTS = 100_000  # more than the stand-in for NCCL copies at once


def on_gpu(*values, dtype=torch.float32):
    """Returns a tensor whose equal parts have the values."""
    return torch.cat([torch.full((ELEMENTS,), value, dtype=dtype) for value in values]).cuda()


def parts(tensor, count=1):
    """Returns the value of each part; a list if its elements differ."""
    distinct = [part.unique().tolist() for part in tensor.cpu().double().view(count, -1)]
    return [values[0] if len(values) == 1 else values for values in distinct]


def reduced(value, dtype=torch.float32, operation=dist.ReduceOp.SUM):
    tensor = on_gpu(value, dtype=dtype)
    dist.all_reduce(tensor, operation)
    return parts(tensor)[0]


def reductions(rank):
    own = 3 * rank + 2  # 2 and 5
    said = {f"ones, {name}": reduced(1, getattr(torch, name))
            for name in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")}
    said |= {name: reduced(own, operation=getattr(dist.ReduceOp, name)) for name in ("PRODUCT", "MIN", "MAX", "AVG")}
    return said | {"scaled": reduced(own, operation=dist._make_nccl_premul_sum(0.5))}


def movements(rank):
    """Values of this rank are 10 and 11, or 20 and 21."""
    other, first = 1 - rank, 10.0 * (rank + 1)
    own, both = on_gpu(first), on_gpu(first, first + 1)
    said = {}

    def result(name, tensor, count=1):
        said[name] = parts(tensor, count)

    gathered, scattered, exchanged, came = on_gpu(0, 0), on_gpu(0), on_gpu(0, 0), on_gpu(0)
    dist.all_gather_into_tensor(gathered, own)
    result("all_gather", gathered, 2)
    dist.reduce_scatter_tensor(scattered, both)
    result("reduce_scatter", scattered)
    dist.all_to_all_single(exchanged, both)
    result("all_to_all", exchanged, 2)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, own, other), dist.P2POp(dist.irecv, came, other)]):
        work.wait()
    result("both send", came)
    (dist.send if rank == 0 else dist.recv)(own, other)
    result("rank 0 sends", own)
    summed = on_gpu(first)
    dist.reduce(summed, 1)
    if rank == 1:
        result("reduce to rank 1", summed)
    dist.broadcast(both, 1)
    result("broadcast of rank 1", both, 2)
    return said


def groups(rank):
    """The communicators of these groups are parts of the one of all ranks, in which each rank has its GPU."""
    both, alone = dist.new_group([0, 1]), dist.new_group([1])
    said = {}
    for name, group in (("both", both), ("rank 1 alone", alone)):
        tensor = on_gpu(rank + 1)
        if group is not dist.GroupMember.NON_GROUP_MEMBER:
            dist.all_reduce(tensor, group=group)
        said[name] = parts(tensor)[0]
    return said


def fingerprint(model):
    return hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())).hexdigest()


def distribution(rank):
    """DDP gives the parameters of rank 0 to rank 1. One parameter needs no kernel that joins several."""
    torch.manual_seed(rank)
    model = nn.Linear(WIDTH, WIDTH, bias=False).cuda()
    before = fingerprint(model)
    return {"own": before, "of DDP": fingerprint(nn.parallel.DistributedDataParallel(model))}


def model_of_layers():
    return nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]).cuda()


def train(model):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.ones(8, WIDTH).cuda()).sum().backward()
        optimizer.step()
    torch.cuda.synchronize()


def data_parallel():
    model = nn.parallel.DistributedDataParallel(model_of_layers(), bucket_cap_mb=5)
    train(model)
    sizes = [int(size) for size in model._get_ddp_logging_data()["rebuilt_bucket_sizes"].split(",")]
    return {"buckets": len(sizes), "bytes in buckets": sum(sizes)}


def sharded():
    model = model_of_layers()
    for layer in model:
        fully_shard(layer)
    train(fully_shard(model))
    return {"own part": sum(parameter.to_local().nbytes for parameter in model.parameters())}


def main():
    torch.set_num_threads(1)
    card = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(card)
    dist.init_process_group("nccl", device_id=card if sys.argv[1] == "ddp" else None)
    rank = dist.get_rank()
    said = {"rank": rank, "pid": os.getpid()}
    if sys.argv[1] == "ddp":
        said |= {"reductions": reductions(rank), "movements": movements(rank), "groups": groups(rank),
                 "parameters": distribution(rank)}
    said |= data_parallel() if sys.argv[1] == "ddp" else sharded()
    counters = torch.cuda.memory_stats()
    said |= {name: counters[f"{name}_bytes.all.peak"] for name in ("allocated", "reserved")}
    os.write(1, (json.dumps(said) + "\n").encode())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
