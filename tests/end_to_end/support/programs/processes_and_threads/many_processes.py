"""Starts N processes that each hold 40 MiB and allocate for some seconds.

usage: many_processes.py N SECONDS
"""
import os
import sys
import time


def work(seconds):
    keep = [bytearray(1 << 20) for _ in range(40)]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        keep[0] = bytearray(1 << 20)
        time.sleep(0.05)
    sys.exit(0)


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            work(float(sys.argv[2]))
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
