"""Purpose: makes named shared memory in one of several ways, prints the file's name, then waits or ends.

usage: left_behind.py HOW MIB [unlink] [child] [attach] [end]
HOW: shm_open, shared_memory, torch
"""
import ctypes
import mmap
import os
import subprocess
import sys

HOW, MIB, WHAT = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
BYTES = MIB << 20


def by_shm_open():
    libc = ctypes.CDLL(None, use_errno=True)
    name = f"memtrace-test-{os.getpid()}"
    file = libc.shm_open(f"/{name}".encode(), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    os.ftruncate(file, BYTES)
    return name, mmap.mmap(file, BYTES)  # the line


def by_shared_memory():
    from multiprocessing import shared_memory
    memory = shared_memory.SharedMemory(create=True, size=BYTES)  # the line
    return memory.name, memory


def by_torch():
    import torch
    torch.multiprocessing.set_sharing_strategy("file_system")
    tensor = torch.zeros(BYTES // 4)
    tensor.share_memory_()  # the line
    small = [torch.zeros(16).share_memory_() for _ in range(20)]  # like the labels of batches
    return tensor.untyped_storage()._share_filename_cpu_()[1].decode().lstrip("/"), (tensor, small)


def attach(name):
    """Attaches in a child, as soon as the file exists."""
    if os.fork() != 0:
        return
    file = os.open(f"/dev/shm/{name}", os.O_RDWR)
    mapped = mmap.mmap(file, 0)
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(len(mapped) & 0)


if "child" in WHAT:  # another process of the job, which outlives this one
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    print(child.pid)
name, memory = {"shm_open": by_shm_open, "shared_memory": by_shared_memory, "torch": by_torch}[HOW]()
if HOW != "torch":
    view = memory.buf if HOW == "shared_memory" else memory
    for at in range(0, BYTES, 4096):
        view[at] = 1
if "attach" in WHAT:
    attach(name)
if "unlink" in WHAT:
    os.unlink(f"/dev/shm/{name}")
print(name, flush=True)
if "end" in WHAT:
    os._exit(0)
sys.stdin.read()
