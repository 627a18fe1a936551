"""Purpose: two ranks over gloo keep memory beside the model: data parallel training, a gather, sharding.

Prints the sizes afterwards, by PyTorch's own figures. usage: distributed.py ddp|ddp-view|gather|sharded
"""
import io
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

WIDTH = 512


def bytes_of(tensors):
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def say(**truth):
    """Prints on a separate line, whatever the other rank writes."""
    os.write(1, (json.dumps({"rank": dist.get_rank(), **truth}) + "\n").encode())


def model_of(layers):
    return nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(layers)])


def data_parallel(view):
    model = nn.parallel.DistributedDataParallel(model_of(6), bucket_cap_mb=2, gradient_as_bucket_view=view)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(8, WIDTH)).sum().backward()
        optimizer.step()
    buckets = [int(size) for size in model._get_ddp_logging_data()["rebuilt_bucket_sizes"].split(",")]
    say(comm=sum(buckets), buckets=len(buckets), gradient=bytes_of(p.grad for p in model.parameters()),
        parameter=bytes_of(model.parameters()))


def gather():
    """Each rank has a part of the model; the first gets all parts and saves the whole."""
    part = model_of(6)
    part(torch.ones(8, WIDTH)).sum().backward()
    whole = {}
    for name, parameter in part.named_parameters():
        parts = [torch.empty_like(parameter) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
        dist.gather(parameter.detach(), parts)
        whole[name] = parts
    file = io.BytesIO()
    if dist.get_rank() == 0:
        torch.save(whole, file)
    say(gathered=bytes_of(part.parameters()) * 2 if dist.get_rank() == 0 else 0, file=file.tell())


def sharded():
    model = model_of(6)
    whole = bytes_of(model.parameters())
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(8, WIDTH)).sum().backward()
        optimizer.step()
    local = [parameter.to_local() for parameter in model.parameters()]
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    file = io.BytesIO()
    if dist.get_rank() == 0:
        torch.save(state, file)
    say(whole=whole, parameter=bytes_of(local), layer=whole // 6, gathered=bytes_of(state.values()), file=file.tell())


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    which = sys.argv[1]
    if which.startswith("ddp"):
        data_parallel(which == "ddp-view")
    else:
        {"gather": gather, "sharded": sharded}[which]()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
