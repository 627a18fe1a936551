"""Purpose: holds memory by the words of its command line, so that a test decides what it does next.

`to N`: holds N MiB of touched mappings; `size N`: grows its address space to N MiB by one mapping, untouched; `wait
FILE`: until the file is there; `seen FILE N`: until the metrics in FILE say that it holds N MiB; `say FILE`: writes its
pid, and statm of this moment; `read FILE`: brings a file into the page cache; `fork`: the rest is done by a child, and
the parent waits; `fill`: takes memory until it is killed.
"""
import mmap
import os
import re
import sys
import time

MIB = 1 << 20
held, reserved = [], []


def one():
    block = mmap.mmap(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block.write(b"x" * MIB)
    return block


def to(count):
    while len(held) > int(count):
        held.pop().close()
    while len(held) < int(count):
        held.append(one())


def wait(path):
    while not os.path.exists(path):
        time.sleep(0.005)


def say(path):
    with open("/proc/self/statm", encoding="ascii") as statm, open(path + ".part", "w", encoding="ascii") as out:
        out.write(f"{os.getpid()} {statm.read()}")
    os.rename(path + ".part", path)


def seen(path, least):
    while True:
        wait(path)
        with open(path, encoding="utf-8") as file:
            figures = re.findall(rf'^memtrace_process_resident_bytes\{{.*pid="{os.getpid()}".*\}} (\d+)$', file.read(), re.M)
        if figures and int(figures[0]) >= int(least) * MIB:
            return
        time.sleep(0.02)


def size(wanted):
    with open("/proc/self/statm", encoding="ascii") as statm:
        now = int(statm.read().split()[0]) * mmap.PAGESIZE
    reserved.append(mmap.mmap(-1, int(wanted) * MIB - now, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def read(path):
    with open(path, "rb") as file:
        while file.read(MIB):
            pass


words = iter(sys.argv[1:])
for word in words:
    if word == "fork":
        child = os.fork()
        if child:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    elif word == "fill":
        while True:
            held.append(one())
    elif word == "seen":
        seen(next(words), next(words))
    else:
        {"to": to, "size": size, "wait": wait, "say": say, "read": read}[word](next(words))
