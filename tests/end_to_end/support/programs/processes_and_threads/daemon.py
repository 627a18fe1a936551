"""Becomes a daemon in the classic way: two forks with a new session between. Writes its parent's pid to a file.
"""
import os
import sys
import time

if os.fork():
    os._exit(7)
os.setsid()
if os.fork():
    os._exit(0)
held = bytearray(b"x" * (40 << 20))
until = time.monotonic() + 60
while not os.path.exists(sys.argv[1] + ".go") and time.monotonic() < until:
    time.sleep(0.01)
with open(sys.argv[1] + ".partial", "w", encoding="utf-8") as file:
    file.write(f"{os.getppid()} {len(held)}")
os.rename(sys.argv[1] + ".partial", sys.argv[1])
