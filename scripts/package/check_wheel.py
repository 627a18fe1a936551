#!/usr/bin/env python3
"""Purpose: checks that a wheel runs where its tag says.

usage: check_wheel.py WHEEL PLATFORM

auditwheel must find the wheel consistent with PLATFORM, or with an older one. The versions of glibc that `readelf -V` lists
must be of PLATFORM, too. The command must need no library at all. The queries of memtrace fleet must be in the wheel.
"""
import os
import re
import subprocess
import sys
import tempfile
import zipfile

COMMAND = "memtrace/bin/memtrace"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUERIES = "memtrace/fleet/sql"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def glibc_of(tag):
    found = re.fullmatch(r"manylinux_(\d+)_(\d+)_x86_64", tag)
    if not found:
        sys.exit(f"check_wheel.py: {tag}: expected manylinux_MAJOR_MINOR_x86_64")
    return int(found[1]), int(found[2])


def faults(wheel, floor):
    shown = " ".join(output_of(sys.executable, "-m", "auditwheel", "show", wheel).split())
    tag = re.search(r'platform tag: "(\w+)"', shown)
    if not tag or glibc_of(tag[1]) > floor:
        yield f"auditwheel: {shown}"
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        binaries = [COMMAND, *(f"memtrace/lib/{name}" for name in sorted(os.listdir(f"{folder}/memtrace/lib")))]
        for binary in binaries:
            path = os.path.join(folder, binary)
            for version in sorted(set(re.findall(r"Name: GLIBC_(\d+\.\d+)", output_of("readelf", "-VW", path)))):
                if tuple(map(int, version.split("."))) > floor:
                    yield f"{binary} needs glibc {version}"
        if "NEEDED" in output_of("readelf", "-dW", os.path.join(folder, COMMAND)):
            yield f"{COMMAND} needs a library"
        for name in sorted(os.listdir(f"{ROOT}/python/{QUERIES}")):
            if not os.path.isfile(f"{folder}/{QUERIES}/{name}"):
                yield f"{QUERIES}/{name} is missing"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = list(faults(sys.argv[1], glibc_of(sys.argv[2])))
    for fault in found:
        print(f"{sys.argv[1]}: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
