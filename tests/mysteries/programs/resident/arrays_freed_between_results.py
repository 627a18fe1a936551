"""Purpose: computes features of many partitions of small arrays, keeps a few of the arrays, and serves them.

Thread: giampaolo/psutil#1275
Question: The arrays of 160 KiB were freed, but RSS stays some 500 MiB above what the library holds. Is it a leak?
Answer: malloc_stats shows that glibc holds the freed memory: it lies between arrays that are still in use.
  malloc_trim(0) gives it back.
Finding: allocator-retention
Needs: numpy
"""
import ctypes
import os
import sys
import time

import numpy

MENDED = "--mended" in sys.argv
ARRAYS, LENGTH, KEEP_EACH = 2400, 20 << 10, 16  # 160 KiB each
libc = ctypes.CDLL(None)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) << 12


def given_back_by_trim():
    """Returns the resident bytes that malloc_trim gives back to the kernel; a child tries it."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        before = resident()
        libc.malloc_trim(0)
        os.write(write_end, str(before - resident()).encode())
        os._exit(0)
    return int(os.read(read_end, 32))


def features(seed):
    random = numpy.random.default_rng(seed)
    return [random.random(LENGTH) for _ in range(ARRAYS)]  # CAUSE


def served(arrays, seconds):
    for request in range(seconds * 10):
        array = arrays[request % len(arrays)]
        answer = array / numpy.linalg.norm(array)
        time.sleep(0.1)
    return answer


kept = features(1)[::KEEP_EACH]
if MENDED:
    libc.malloc_trim(0)
served(kept, 26)
print("truth", given_back_by_trim())
