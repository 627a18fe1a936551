"""An ordinary program: threads, exceptions, large and small memory, gc, signals. Prints what it observes."""
import gc
import os
import signal
import sys
import threading
import warnings

warnings.simplefilter("error")
held = [bytearray(10_000) for _ in range(500)]
threads = [threading.Thread(target=lambda: held.append(bytes(20_000))) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
try:
    bytearray(1 << 62)
except MemoryError:
    print("MemoryError")
signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.pause()
del held[::2]
gc.collect()
print(len(held), sys.argv[1:], threading.active_count(), sys.getprofile(), sys.gettrace())
print([finder.__name__ if isinstance(finder, type) else type(finder).__name__
       for finder in sys.meta_path][-3:], "memtrace" in sys.modules)
print(sorted(os.listdir("/proc/self/fd")))
sys.stderr.write("to stderr\n")
sys.exit(5)
