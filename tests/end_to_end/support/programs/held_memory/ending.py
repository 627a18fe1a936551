"""Purpose: holds 100 MiB, then ends as the argument says."""
import ctypes
import os
import signal
import sys
import time

MIB = 1 << 20


def main():
    how = sys.argv[1]
    held = bytearray(os.urandom(1024)) * (100 * 1024)
    time.sleep(0.7)  # samples are taken twice a second
    print("ready", flush=True)
    if how == "segfault":
        ctypes.string_at(8)
    elif how == "_exit":
        os._exit(3)
    elif how == "abort":
        os.abort()
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "wait":
        time.sleep(60)
    elif how == "at once":
        held += bytearray(os.urandom(1024)) * (int(sys.argv[2]) * 1024)
    elif how == "MemoryError":
        import resource  # imported here, so the other ends do without it
        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]) * MIB,) * 2)
        held = [held]
        try:
            while True:
                held.append(bytearray(64 * MIB))
        finally:
            print(len(held) - 1, flush=True)
    elif how == "shm":
        import mmap
        size = int(sys.argv[2]) * MIB
        file = os.open("/dev/shm/full", os.O_RDWR | os.O_CREAT)
        os.ftruncate(file, size)
        view = mmap.mmap(file, size)
        for at in range(0, size, MIB):
            view[at:at + MIB] = held[:MIB]
            time.sleep(0.01)


if __name__ == "__main__":
    main()
