"""Purpose: keeps 80 MiB and is killed by SIGKILL, as by an operator or the kernel, for scripts/compare."""
import os
import signal

BLOCKS, SIZE = 40, 2 << 20

kept = []
for number in range(BLOCKS):
    kept.append(bytearray(SIZE))  # CAUSE
print("truth", BLOCKS * SIZE, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
