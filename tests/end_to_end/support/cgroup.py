"""Purpose: makes memory cgroups of version 1 or 2, and reads the kernel's log of kills in them.

Version 2 has three rules more. A group has a memory controller only if its parent lists `memory` in
cgroup.subtree_control. A group that lists a controller there may hold no processes, unless it is the root of the
machine. A user may move a process only if he may write cgroup.procs of a group above both the old and the new place.
"""
import itertools
import os
import re
import subprocess
import time
import unittest

MOUNTS = "/proc/self/mountinfo"
OWN = "/proc/self/cgroup"
LEAF = "memtrace-tests"  # where the processes of a group go, if the group must be an inner node
NUMBERS = itertools.count()


class VersionOne:
    """The memory hierarchy of version 1, mounted at `root`."""
    LIMIT, PEAK, USED = "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.usage_in_bytes"

    def __init__(self, root):
        self.root = root

    def parent(self):
        """Returns the directory for new groups, or None if there is none."""
        return self.root if writable(self.root) and os.path.exists(os.path.join(self.root, self.LIMIT)) else None

    def prepare(self, group):
        """Sets what a new group needs before a process enters it: nothing here."""

    def prepare_inner(self, group):
        """Makes sure that `group` may have groups below it: it may."""

    def kills(self, group):
        return number_of("oom_kill", group.read("memory.oom_control"))

    def cache(self, group):
        """Returns the bytes of page cache, without shared memory, charged to `group` and the groups below it."""
        stat = group.read("memory.stat")
        return number_of("total_cache", stat) - number_of("total_shmem", stat)


class VersionTwo:
    """The unified hierarchy, mounted at `root`. `own` is the path of this process in it."""
    LIMIT, PEAK, USED = "memory.max", "memory.peak", "memory.current"

    def __init__(self, root, own):
        self.root = root
        self.own = os.path.normpath(os.path.join(root, own.lstrip("/")))

    def upwards(self):
        """Yields the directory of the process, and those above it, up to the root."""
        directory = self.own
        while True:
            yield directory
            if directory == self.root or len(directory) <= len(self.root):
                return
            directory = os.path.dirname(directory)

    def parent(self):
        """Returns the directory for new groups, or None if no group may be made."""
        places = [one for one in self.upwards() if writable(one) and "memory" in words(one, "cgroup.controllers")]
        for one in places:
            if "memory" in words(one, "cgroup.subtree_control"):
                return one
        for one in places:
            if (is_real_root(one) or not words(one, "cgroup.procs")) and enabled(one):
                return one
        return next((one for one in places if emptied(one)), None)

    def prepare(self, group):
        # Swapped memory is not in memory.max, so a group with swap would grow beyond its limit.
        if os.path.exists(os.path.join(group.directory, "memory.swap.max")):
            group.write("memory.swap.max", 0)

    def prepare_inner(self, group):
        group.write("cgroup.subtree_control", "+memory")

    def kills(self, group):
        # Counts the kills of this group alone, as version 1 does. memory.events also counts those of groups below.
        return number_of("oom_kill", group.read("memory.events.local"))

    def cache(self, group):
        stat = group.read("memory.stat")
        return number_of("file", stat) - number_of("shmem", stat)


def writable(directory):
    """True if groups may be made in `directory` and processes moved below it."""
    return os.access(directory, os.W_OK) and os.access(os.path.join(directory, "cgroup.procs"), os.W_OK)


def is_real_root(directory):
    """True for the root of the machine: the root of a cgroup namespace has a type."""
    return not os.path.exists(os.path.join(directory, "cgroup.type"))


def words(directory, file):
    try:
        with open(os.path.join(directory, file), encoding="ascii") as stream:
            return stream.read().split()
    except OSError:
        return []


def enabled(directory):
    """Lets the groups in `directory` have the memory controller. Returns false if the kernel refuses."""
    try:
        with open(os.path.join(directory, "cgroup.subtree_control"), "w", encoding="ascii") as stream:
            stream.write("+memory")
    except OSError:
        return False
    return True


def emptied(directory):
    """Moves the processes of `directory` to a leaf below it, until the memory controller can be enabled. If a
    process forks before its move, its child is still in `directory`, and the next round moves it. Returns false if the
    kernel refuses, or after 60 s."""
    leaf = os.path.join(directory, LEAF)
    try:
        os.makedirs(leaf, exist_ok=True)
    except OSError:
        return False
    until = time.monotonic() + 60
    while not enabled(directory):
        here = words(directory, "cgroup.procs")
        if not here or time.monotonic() > until:
            return False
        for pid in here:
            try:
                with open(os.path.join(leaf, "cgroup.procs"), "w", encoding="ascii") as stream:
                    stream.write(pid)
            except ProcessLookupError:
                continue
            except OSError:
                return False
    return True


def number_of(key, text):
    return int(re.search(rf"^{key} (\d+)$", text, re.MULTILINE)[1])


def hierarchies(mounts=MOUNTS, own=OWN):
    """Returns the mounted hierarchies that may have the memory controller, version 1 first: a controller that
    version 1 has mounted is not in version 2."""
    with open(own, encoding="ascii") as file:
        paths = dict(re.findall(r"^\d+:([^:\n]*):(.*)$", file.read(), re.MULTILINE))
    found = []
    with open(mounts, encoding="utf-8") as file:
        for line in file:
            fields, _, kind = line.rstrip("\n").partition(" - ")
            place = fields.split()[4]
            if kind.startswith("cgroup ") and "memory" in kind.split()[-1].split(","):
                found.insert(0, VersionOne(place))
            elif kind.startswith("cgroup2 "):
                found.append(VersionTwo(place, paths.get("", "/")))
    return found


def place_for_groups():
    """Returns a hierarchy, and the directory in it where groups can be made. Skips the test if there is none."""
    found = hierarchies()
    for one in found:
        if parent := one.parent():
            return one, parent
    tried = ", ".join(f"{type(one).__name__} at {one.root}" for one in found) or "none is mounted"
    raise unittest.SkipTest(f"no memory controller of a cgroup may be written here: {tried}")


class Group:
    """A cgroup that is removed at the end, after its processes have ended."""

    def __init__(self, name, limit=None, below=None):
        if below:
            self.version, parent = below.version, below.directory
            self.version.prepare_inner(below)
        else:
            self.version, parent = place_for_groups()
        self.directory = os.path.join(parent, f"{name}-{os.getpid()}-{next(NUMBERS)}")
        os.mkdir(self.directory)
        self.version.prepare(self)
        if limit is not None:
            self.write(self.version.LIMIT, limit)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def enter(self):
        """For use as a preexec_fn."""
        self.write("cgroup.procs", os.getpid())

    @property
    def path(self):
        """Returns the path in its hierarchy. In a cgroup namespace, the kernel's log has a longer path with this end."""
        return self.directory[len(self.version.root.rstrip("/")):]

    def write(self, file, text):
        with open(os.path.join(self.directory, file), "w", encoding="ascii") as out:
            out.write(str(text))

    def read(self, file):
        with open(os.path.join(self.directory, file), encoding="ascii") as file:
            return file.read()

    def kills(self):
        return self.version.kills(self)

    def highest(self):
        """Returns the highest charge. Skips the test if the kernel does not count it: version 2 before Linux 5.19."""
        try:
            return int(self.read(self.version.PEAK))
        except FileNotFoundError as error:
            raise unittest.SkipTest("this kernel has no memory.peak") from error

    def cache(self):
        return self.version.cache(self)

    def inside(self, command):
        """Returns the command line that runs `command` in this group."""
        return ["sh", "-c", f"echo $$ > {self.directory}/cgroup.procs; exec \"$@\"", "sh", *command]

    def remove(self):
        until = time.monotonic() + 60
        while True:
            try:
                return os.rmdir(self.directory)
            except FileNotFoundError:
                return None
            except OSError:
                if time.monotonic() > until:
                    raise
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
            group = re.search(r"task_memcg=([^,]*),", line)
            here = group is not None and group[1].endswith(path)
        elif "Killed process " in line and here:
            found.append((line, int(line.split("Killed process ")[1].split()[0])))
    return found


def last_kill(path):
    """Returns the last kill, or None if there is none."""
    return next(reversed(kills(path)), None)
