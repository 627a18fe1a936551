"""Job: a memory cgroup of version 1 with a limit, for processes that the kernel shall kill."""
import os
import time
import unittest

MOUNT = "/sys/fs/cgroup/memory"


def own_group():
    """The directory of this process's memory cgroup; the test is skipped where none can be made below it."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            directory = MOUNT + path
            if "memory" in controllers.split(",") and os.access(directory, os.W_OK):
                return directory
    raise unittest.SkipTest(f"no cgroup can be made in {MOUNT}: it needs version 1 and root")


class Group:
    """Use as a context; `enter` is a preexec_fn."""

    def __init__(self, limit=None, parent=None, name="memtrace-test"):
        self.path = os.path.join(parent.path if parent else own_group(), f"{name}-{os.getpid()}")
        self.limit = limit

    def __enter__(self):
        os.mkdir(self.path)
        if self.limit is not None:
            self.write("memory.limit_in_bytes", self.limit)
        return self

    def __exit__(self, *_):
        for _ in range(200):  # a killed process takes a moment to be gone
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"{self.path} is not empty")

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            file.write(str(value))

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8") as file:
            return file.read()

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    @property
    def kills(self):
        return int(self.read("memory.oom_control").rpartition("oom_kill ")[2])
