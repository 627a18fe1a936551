"""Purpose: the memory of a process and its children together, read from the kernel while they run."""
import glob
import threading


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += map(int, file.read().split())
        except OSError:
            continue  # the thread has ended
    return found


def pss(pid):
    """Returns the kernel's proportional set size in bytes, 0 if the process has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:")), 0)
    except OSError:
        return 0


class FamilyPss:
    """The highest sum of PSS over a process and its children. A look takes milliseconds, and it stops page faults of
    the process meanwhile, so looks are 20 ms apart."""

    def __init__(self, pid):
        self.pid = pid
        self.highest = 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.poll)
        self.thread.start()

    def poll(self):
        while not self.done.wait(0.02):
            self.highest = max(self.highest, sum(pss(one) for one in [self.pid, *children(self.pid)]))

    def end(self):
        self.done.set()
        self.thread.join()
        return self.highest
