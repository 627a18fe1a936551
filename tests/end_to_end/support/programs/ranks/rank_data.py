"""Purpose: three ranks of one host, each of which loads the same data, or uses it without a copy of its own.

usage: rank_data.py HOW, where HOW is
  each     each rank reads the whole file into an array of its own, and keeps it
  mapped   each rank maps the file
  first    only rank 0 reads the file
  parts    each rank reads a part of its own; the parts differ in size by 10 %
  state    each rank loads a whole checkpoint beside its model, and does not train
  shards   each rank loads a whole checkpoint, cuts its part out of it, and works with that
  assign   each rank loads a whole checkpoint and trains with its tensors, as data parallel training does
  train    data parallel training by AdamW of a model as large as the file; batches as large as half of it

Each rank prints what it holds, by numpy and PyTorch, and how much of the data's pages are its own, by the kernel.
"""
import json
import os
import subprocess
import sys
import time

RANKS = 3
MIB = 1 << 20
DATA = 96 * MIB
WIDTH = 1 << 10  # a layer of 4 MiB


def private_bytes(array):
    """Returns the bytes that no other process maps of the mapping of the array's middle, from /proc/self/smaps."""
    address = array.ctypes.data + array.nbytes // 2
    inside, private = False, 0
    with open("/proc/self/smaps", encoding="ascii") as file:
        for line in file:
            key = line.split()[0]
            if "-" in key and not key.endswith(":"):
                low, high = (int(part, 16) for part in key.split("-"))
                inside = low <= address < high
            elif inside and key in ("Private_Clean:", "Private_Dirty:"):
                private += int(line.split()[1]) * 1024
    return private


def read(path, count=-1):
    import numpy
    return numpy.fromfile(path, numpy.uint8, count)


def hold(rank, how, path):
    """Returns the data, or None if this rank has none."""
    import numpy
    if how == "mapped":
        data = numpy.memmap(path, numpy.uint8, "r")
        data.max()  # touches each page
        return data
    if how == "parts":
        return read(path, DATA - rank * DATA // 10)
    return read(path) if how == "each" or rank == 0 else None


def layers(count):
    import torch
    return torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(count)])


def load_state(path):
    import torch
    model = layers(DATA // (4 * WIDTH * WIDTH))
    state = torch.load(path)
    size = sum(tensor.nbytes for tensor in state.values())
    model.load_state_dict(state)
    return size


def keep_a_part(path):
    import torch
    import torch.distributed as dist
    state = torch.load(path)
    size = sum(tensor.nbytes for tensor in state.values())
    part = [tensor.chunk(RANKS)[dist.get_rank()].clone() for tensor in state.values()]
    del state
    work(part)
    return size


def assign(path):
    import torch
    state = torch.load(path)
    work([tensor.requires_grad_() for tensor in state.values()])
    return sum(tensor.nbytes for tensor in state.values())


def work(tensors):
    """Uses the tensors for longer than the load took."""
    import torch
    import torch.distributed as dist
    for _ in range(8):
        for tensor in tensors:
            dist.all_reduce(torch.stack([tensor.detach().sum()]))
        time.sleep(0.5)


def train():
    import torch
    model = torch.nn.parallel.DistributedDataParallel(layers(DATA // (4 * WIDTH * WIDTH)))
    optimizer = torch.optim.AdamW(model.parameters())
    batches = torch.utils.data.DataLoader([torch.ones(WIDTH) for _ in range(4 * 1024)], batch_size=1024)
    for batch in batches:
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return sum(parameter.nbytes for parameter in model.parameters())


def main(how, path):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    said, data = {"rank": rank, "pid": os.getpid(), "data": 0}, None
    by_torch = {"state": load_state, "shards": keep_a_part, "assign": assign, "train": lambda path: train()}
    if how in by_torch:
        said["data"] = by_torch[how](path)
        dist.barrier()
    else:
        data = hold(rank, how, path)
        dist.barrier()
        if data is not None:
            said["data"], said["private"] = data.nbytes, private_bytes(data)
        dist.barrier()
    os.write(1, (json.dumps(said) + "\n").encode())
    if data is not None:
        os._exit(0)  # the data are alive at the end, as in a longer training
    dist.destroy_process_group()


def write(how, path):
    if how in ("state", "shards", "assign"):
        import torch
        torch.save(layers(DATA // (4 * WIDTH * WIDTH)).state_dict(), path)
    elif how != "train":
        with open(path, "wb") as file:
            file.write(bytes(range(256)) * (DATA // 256))


if __name__ == "__main__":
    if "RANK" in os.environ:
        main(sys.argv[1], sys.argv[2])
    else:
        write(sys.argv[1], "data")
        port = int(sys.argv[2])
        started = [subprocess.Popen([sys.executable, sys.argv[0], sys.argv[1], "data"],
                                    env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank),
                                         "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1",
                                         "MASTER_PORT": str(port)})
                   for rank in range(RANKS)]
        sys.exit(max(process.wait() for process in started))
