"""Purpose: makes a memory cgroup of version 1, and reads the kernel's log of kills in it."""
import itertools
import os
import subprocess
import time
import unittest

ROOT = "/sys/fs/cgroup/memory"
NUMBERS = itertools.count()


class Group:
    """A cgroup that is removed at the end, after its processes have ended."""

    def __init__(self, name, limit=None, below=None):
        parent = below.directory if below else ROOT
        if not os.access(os.path.join(ROOT, "cgroup.procs"), os.W_OK) or \
                not os.path.exists(os.path.join(ROOT, "memory.limit_in_bytes")):
            raise unittest.SkipTest(f"no memory controller of cgroup v1 that may be written at {ROOT}")
        self.directory = os.path.join(parent, f"{name}-{os.getpid()}-{next(NUMBERS)}")
        os.mkdir(self.directory)
        if limit is not None:
            self.write("memory.limit_in_bytes", limit)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def enter(self):
        """For use as a preexec_fn."""
        self.write("cgroup.procs", os.getpid())

    @property
    def path(self):
        """Returns the path as the kernel's log names it."""
        return self.directory[len(ROOT):]

    def write(self, file, text):
        with open(os.path.join(self.directory, file), "w", encoding="ascii") as out:
            out.write(str(text))

    def read(self, file):
        with open(os.path.join(self.directory, file), encoding="ascii") as file:
            return file.read()

    def kills(self):
        return int(self.read("memory.oom_control").rpartition("oom_kill ")[2])

    def inside(self, command):
        """Returns the command line that runs `command` in this group."""
        return ["sh", "-c", f"echo $$ > {self.directory}/cgroup.procs; exec \"$@\"", "sh", *command]

    def remove(self):
        for _ in range(100):
            try:
                os.rmdir(self.directory)
                return
            except OSError:
                time.sleep(0.05)


def dmesg():
    """Returns the kernel's log, or None if it may not be read."""
    done = subprocess.run(["dmesg"], capture_output=True, check=False)
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def kills(path):
    """Returns the kernel's log lines of the kills in the cgroup `path`, each with its pid, in order."""
    log = dmesg()
    if log is None:
        raise unittest.SkipTest("the kernel's log may not be read here")
    found, here = [], False
    for line in log.splitlines():
        if "oom-kill:constraint=" in line:
            here = f"task_memcg={path}," in line
        elif "Killed process " in line and here:
            found.append((line, int(line.split("Killed process ")[1].split()[0])))
    return found


def last_kill(path):
    """Returns the last kill, or None if there is none."""
    return next(reversed(kills(path)), None)
