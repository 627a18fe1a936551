"""Counts the signals it gets until there is a pause, and says which: `ready` first."""
import os
import signal
import sys
import time

got = []
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, lambda number, frame: got.append(number))
os.write(1, b"ready\n")
until = time.monotonic() + 60
while not got and time.monotonic() < until:
    time.sleep(0.01)
time.sleep(0.5)
print(*[signal.Signals(number).name for number in got], flush=True)
sys.exit(len(got))
