"""Purpose: programs in C and C++ that test themselves, from Debian's packages: a line of JSON for each test's outcome.

usage: native.py glib|stress-ng RESULT [GLOB]     GLOB: the names of the programs to run
Programs of GLib say in TAP how each of their tests ended. Those of stress-ng check what they do, and end with 0 if it
was right and with 3 or 4 if the machine does not have what they need. They stop after a number of operations.
"""
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

GLIB = "/usr/share/installed-tests/glib"
STRESS = "/usr/bin/stress-ng"
LIMIT = 120  # seconds of one program
# They measure time, need a session's bus or a network, or compile programs.
NOT_OF_GLIB = ("*performance*", "*-slow", "gdbus-*", "*.py", "network-*", "*dbus*", "*portal*", "resolver-*", "static-link",
               "testfilemonitor", "debugcontroller", "mem-overflow")
# Those that map, allocate, start threads and processes, or take signals. Each with so many operations, about a second.
STRESSORS = {
    "aio": 500, "bad-altstack": 50, "brk": 3000, "clone": 1, "context": 40, "daemon": 100, "exec": 20, "fault": 80,
    "fork": 500, "hash": 5000, "heapsort": 1, "hsearch": 100, "io-uring": 1, "judy": 1, "list": 1, "madvise": 2,
    "malloc": 5000, "memcpy": 4, "memfd": 1, "mergesort": 1, "mincore": 500, "misaligned": 2, "mlock": 1, "mmap": 1,
    "mmapaddr": 1000, "mmapfixed": 1, "mmapmany": 1000, "mprotect": 20000, "mremap": 1, "msync": 5, "munmap": 20000,
    "pagemove": 1, "personality": 500, "prctl": 30, "pthread": 1000, "ptrace": 400, "qsort": 1, "radixsort": 1,
    "remap": 1, "rmap": 1, "seccomp": 50, "session": 30, "set": 10000, "shm": 1, "shm-sysv": 5, "sigabrt": 30,
    "sigfpe": 3000, "sigq": 5000, "sigsegv": 3000, "sigtrap": 10000, "skiplist": 100, "splice": 2000, "stack": 1,
    "stackmmap": 1, "str": 5000, "tree": 1, "unshare": 1, "userfaultfd": 5000, "vfork": 100, "vforkmany": 500,
    "vm": 1, "vm-addr": 1, "vm-rw": 1, "vm-segv": 5, "vm-splice": 5000, "wcs": 3000, "zlib": 4, "zombie": 40,
}


def tap(text):
    """Outcomes by name."""
    for failed, name, directive in re.findall(r"^(not )?ok \d+ (?:- )?(.*?)(?: # (\w+).*)?$", text, re.M):
        yield re.sub(r"seed:\d+", "seed", name), "skipped" if directive.upper() == "SKIP" else "failed" if failed else "passed"


def run(command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.decode(errors="replace")


def outcomes_of_glib(path):
    with open(path, encoding="utf-8") as file:
        command = re.search(r"^Exec=(.*)$", file.read(), re.M).group(1).split()
    status, text = run(command)
    yield "", {None: "failed, out of time", 0: "passed", 77: "skipped"}.get(status, f"failed, status {status}")
    yield from tap(text)


def outcomes_of_stressor(name):
    status, _ = run([STRESS, f"--{name}", "1", f"--{name}-ops", str(STRESSORS[name]), "--verify", "--timeout", "60",
                     "--seed", "1", "--temp-path", "."])
    yield "", {None: "failed, out of time", 0: "passed", 3: "skipped", 4: "skipped"}.get(status, f"failed, status {status}")


def programs(suite, wanted):
    if suite == "stress-ng":
        yield from ((name, outcomes_of_stressor(name)) for name in STRESSORS if fnmatch.fnmatch(name, wanted))
        return
    for path in sorted(glob.glob(os.path.join(GLIB, "*.test"))):
        name = os.path.basename(path).removesuffix(".test")
        if fnmatch.fnmatch(name, wanted) and not any(fnmatch.fnmatch(name, one) for one in NOT_OF_GLIB):
            yield name, outcomes_of_glib(path)


def main():
    with open(sys.argv[2], "w", encoding="utf-8") as result:
        for name, outcomes in programs(sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else "*"):
            for test, said in outcomes:
                result.write(json.dumps([f"{name} {test}".strip(), said]) + "\n")


main()
