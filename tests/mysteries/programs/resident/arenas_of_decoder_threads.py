"""Purpose: decodes frames of several cameras, each in its own thread, and keeps a thumbnail now and then.

Thread: google/tensorstore#223
Question: The resident set grows with the number of cores, but the heap that a profiler shows is stable. What holds it?
Answer: glibc has an arena for each thread, and each keeps what its thread freed. MALLOC_ARENA_MAX=1 removes the growth.
Finding: allocator-retention
Needs: numpy
Pattern: threads that decode frames and free them stand for the writers of chunks
"""
import ctypes
import os
import sys
import threading
import time

import numpy

MENDED = "--mended" in sys.argv
CAMERAS, FRAMES, PIXELS = 8, 340, 120 << 10
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


def decode(camera, thumbnails):
    frames = []
    for number in range(FRAMES):
        frames.append(numpy.full(PIXELS, number % 256, dtype=numpy.uint8))  # CAUSE
        if number % 40 == 39:
            thumbnails.append((camera, number, frames[-1][::32].copy()))


def watch(camera, thumbnails, decoder, done):
    with decoder:
        decode(camera, thumbnails)
    done.wait()


if MENDED:
    libc.mallopt(-8, 1)  # M_ARENA_MAX
all_thumbnails, one_at_a_time, end = [], threading.Lock(), threading.Event()
threads = [threading.Thread(target=watch, args=(camera, all_thumbnails, one_at_a_time, end))
           for camera in range(CAMERAS)]
for thread in threads:
    thread.start()
for _ in range(260):
    mosaic = numpy.concatenate([thumbnail for _, _, thumbnail in all_thumbnails] or [numpy.zeros(1)])
    time.sleep(0.1)
print("truth", given_back_by_trim())
end.set()
