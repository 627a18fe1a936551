"""Work for scripts/gpu_check: one way of taking memory each, with its truth as the last line of stdout, JSON.

usage: work_memory.py context|segments|reset|pinned|oom|malloc|loader
"""
import ctypes
import json
import os
import subprocess
import sys
import time

import torch

MIB = 1 << 20


def say(**truth):
    print(json.dumps({"pid": os.getpid(), "torch": torch.__version__, **truth}), flush=True)


def phase(name):
    try:
        import memtrace
        return memtrace.phase(name)
    except ImportError:  # the run without memtrace
        import contextlib
        return contextlib.nullcontext()


def shown_by_card():
    """Bytes of this process as nvidia-smi shows them; None where the card knows it by another pid."""
    try:
        out = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"],
                             capture_output=True, text=True, check=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    for line in out.splitlines():
        pid, _, used = line.partition(",")
        if pid.strip() == str(os.getpid()) and used.strip().isdigit():
            return int(used) * MIB
    return None


def context():
    """What is used when a context is there and 1 GiB of tensors with it."""
    held = torch.zeros(256 * MIB, device="cuda:0")
    (held[:MIB].view(1024, 1024) @ held[:MIB].view(1024, 1024)).sum().item()  # cuBLAS and its kernels are loaded
    torch.cuda.synchronize()
    with phase("probe"):
        time.sleep(0.3)
    with phase("probe"):
        time.sleep(0.1)
    free, total = torch.cuda.mem_get_info()
    say(card=total - free, total=total, process=shown_by_card(), reserved=torch.cuda.memory_reserved(),
        name=torch.cuda.get_device_name(0), uuid=str(getattr(torch.cuda.get_device_properties(0), "uuid", "")))


def segments():
    """Ten times a large tensor comes and goes, and a smaller one takes its place and stays: no gap fits the next."""
    kept, most, there = [], 0, []
    for _ in range(10):
        passing = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda:0")
        if torch.cuda.memory_reserved() > most:
            most = torch.cuda.memory_reserved()
            there = [(one["total_size"], one["allocated_size"]) for one in torch.cuda.memory_snapshot()]
        del passing
        kept.append(torch.empty(150 * MIB, dtype=torch.uint8, device="cuda:0"))
    say(reserved=most, count=len(there), bytes=sum(total for total, _ in there),
        unused=sum(total - allocated for total, allocated in there))


def reset():
    """Two blocks that nobody frees before the context goes, and one after it."""
    cuda, pointer = runtime(), ctypes.c_void_p()
    for size in (64, 64, 0, 32):
        result = (cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size * MIB)) if size
                  else cuda.cudaDeviceReset())
        if result != 0:
            raise SystemExit(f"error {result}")
    say(allocated=160 * MIB, freed=128 * MIB)


def pinned():
    """Sizes just above a power of two; they stay."""
    sizes = [256 * MIB + 1, 129 * MIB + MIB // 2, 64 * MIB + 4096, 32 * MIB]
    torch.cuda.init()  # without it host_memory_stats() is empty
    kept = [torch.empty(size, dtype=torch.uint8, pin_memory=True) for size in sizes]
    say(asked=sum(sizes), rounded=sum(1 << (size - 1).bit_length() for size in sizes), blocks=len(kept),
        stats=torch.cuda.host_memory_stats()["allocated_bytes.current"])


def oom():
    """Dies of it, as programs do."""
    kept = torch.zeros(64 * MIB, device="cuda:0")
    free, total = torch.cuda.mem_get_info()
    say(asked=total + MIB, free=free, total=total)
    kept.extra = torch.empty(total + MIB, dtype=torch.uint8, device="cuda:0")


def runtime():
    for name in ("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"):
        try:
            ctypes.CDLL(name)
            return ctypes.CDLL(None) if hasattr(ctypes.CDLL(None), "cudaMalloc") else ctypes.CDLL(name)
        except OSError:
            continue
    raise SystemExit("no libcudart in this process")


def malloc():
    """How long a cudaMalloc and its cudaFree take, of 1 MiB, by the program's own scope, where a preload is first."""
    torch.zeros(1, device="cuda:0")
    cuda, pointer = runtime(), ctypes.c_void_p()
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(500):
            if cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(MIB)) != 0:
                raise SystemExit("cudaMalloc failed")
            cuda.cudaFree(pointer)
        times.append((time.perf_counter() - begin) / 500)
    say(pair_seconds=min(times))


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((MIB,), float(index))


def loader():
    data = torch.utils.data.DataLoader(Samples(), batch_size=8, num_workers=2, pin_memory=True)
    total = sum(batch.to("cuda:0", non_blocking=True).sum().item() for batch in data)
    say(total=total, max_memory_allocated=torch.cuda.max_memory_allocated(),
        max_memory_reserved=torch.cuda.max_memory_reserved())


if __name__ == "__main__":
    {"context": context, "segments": segments, "reset": reset, "pinned": pinned, "oom": oom, "malloc": malloc,
     "loader": loader}[sys.argv[1]]()
