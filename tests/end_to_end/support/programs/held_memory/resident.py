"""Purpose: holds memory that is resident but unused, or used but not resident; or the nearest program without
it.

usage: resident.py mapped|read|kept|given_back|untouched|library SO|touched|objects|array
"""
import ctypes
import mmap
import os
import sys
import time

MIB = 1 << 20
BYTES = 384 * MIB


def a_file():
    path = os.path.join(os.getcwd(), "resident.bin")
    with open(path, "wb") as file:
        for _ in range(BYTES // (4 * MIB)):
            file.write(os.urandom(4 * MIB))
    return path


def mapped():
    with open(a_file(), "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        total = sum(memory[at] for at in range(0, len(memory), 4096))
        time.sleep(2)
    return total


def read():
    with open(a_file(), "rb") as file:
        memory = file.read()
    time.sleep(2)
    return len(memory)


def blocks(every):
    """Returns heap blocks that are too small for mappings; of each `every` blocks, one stays alive."""
    held = [b"x" * 60_000 for _ in range(6000)]
    held = held[::every] if every else []
    rest = [bytes(60_000) for _ in range(20)]  # above the other blocks, so the end of the heap does not shrink
    return len(held) + go_on(rest)


def go_on(rest):
    """Runs long enough for three ledgers in its second half."""
    for _ in range(130):
        rest.append(b"y" * 8000)
        time.sleep(0.25)
    print(len(rest), flush=True)
    os._exit(0)  # else the interpreter frees all memory before the last sample


def kept():
    return blocks(16)


def given_back():
    ctypes.CDLL(None).malloc_trim.argtypes = [ctypes.c_size_t]
    held = [b"x" * 60_000 for _ in range(6000)][::16]
    ctypes.CDLL(None).malloc_trim(0)
    return len(held) + go_on([])


def untouched():
    memory = mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return len(memory) + go_on([])


def library():
    """A library reserves memory when it is loaded, as OpenBLAS does for each core."""
    return (ctypes.CDLL(sys.argv[2]) is not None) + go_on([])


def touched():
    memory = mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, BYTES, 4096):
        memory[at] = 1
    return len(memory) + go_on([])


def workers(data):
    import torch

    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, i):
            part = data[i::16]
            time.sleep(0.1)
            return torch.tensor(float(sum(map(len, part)) if isinstance(data, list) else part.sum()))

    return sum(float(batch.sum()) for batch in torch.utils.data.DataLoader(Items(), batch_size=1, num_workers=2))


def objects():
    return workers([f"item {i} of a long list" for i in range(2_000_000)])


def array():
    import torch
    return workers(torch.ones(20 * MIB))


if __name__ == "__main__":
    print(globals()[sys.argv[1]]())
