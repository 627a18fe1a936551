"""Prints `ready`, counts the signals that it gets until there is a pause, and prints them."""
import os
import signal
import sys
import time

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
# One byte for each signal. Python's own handlers merge two signals that arrive close together.
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
