"""Purpose: keeps a cache in a file of /dev/shm that several processes map, and removes the file at an orderly end.

Thread: vllm-project/vllm#51579
Question: /dev/shm fills from one run to the next, until an engine cannot start. No process uses the memory.
Answer: Only the destructor removes the file, and no destructor runs when the process is killed. The file can be removed
  as soon as all processes have mapped it.
Finding: orphan-shm
Needs: numpy
"""
import mmap
import os
import signal
import sys
import time
import uuid

import numpy

MENDED = "--mended" in sys.argv
BYTES = 96 << 20


class Region:
    def __init__(self):
        self.path = f"/dev/shm/offload_region_left-{uuid.uuid4()}.mmap"
        with open(self.path, "x+b") as file:
            file.truncate(BYTES)
            self.memory = mmap.mmap(file.fileno(), BYTES)  # CAUSE

    def close(self):
        os.unlink(self.path)

    def __del__(self):
        if os.path.exists(self.path):
            self.close()


def engine(ready):
    region = Region()
    if MENDED:
        region.close()
    blocks = numpy.frombuffer(region.memory, dtype=numpy.float32)
    for block in blocks.reshape(24, -1):
        block[:] = block.size
    os.write(ready, b"1")
    signal.pause()


read_end, write_end = os.pipe()
child = os.fork()
if child == 0:
    engine(write_end)
    os._exit(0)
os.read(read_end, 1)
time.sleep(1)  # the engine serves for a while
os.kill(child, signal.SIGKILL)  # as the framework does that started the engine
os.waitpid(child, 0)
print("truth", BYTES)
