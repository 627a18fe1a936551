"""Counts the signals it gets until there is a pause, and says which: `ready` first."""
import os
import signal
import sys
import time

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
# A byte for each that arrives: Python's own handlers make one of two that come close together.
reading, writing = os.pipe()
os.set_blocking(reading, False)
os.set_blocking(writing, False)
signal.set_wakeup_fd(writing)
for number in NUMBERS:
    signal.signal(number, lambda number, frame: None)
os.write(1, b"ready\n")
got, until = b"", time.monotonic() + 60
while not got and time.monotonic() < until:
    time.sleep(0.01)
    try:
        got = os.read(reading, 1)
    except BlockingIOError:
        pass
time.sleep(0.5)
try:
    got += os.read(reading, 100)
except BlockingIOError:
    pass
print(*[signal.Signals(number).name for number in got if number in NUMBERS], flush=True)
sys.exit(len(got))
