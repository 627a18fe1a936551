"""Purpose: runs three ranks; the last one holds MIB more than the other ranks.

usage: uneven.py MIB
"""
import os
import subprocess
import sys

MIB = 1 << 20


def model():
    return bytearray(100 * MIB)


def gathered(mib):
    return bytearray(mib * MIB)


if "RANK" in os.environ:
    held = [model()]
    if os.environ["RANK"] == "2" and int(sys.argv[1]):
        held.append(gathered(int(sys.argv[1])))
else:
    ranks = [subprocess.Popen([sys.executable, *sys.argv],
                              env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3"})
             for rank in range(3)]
    sys.exit(max(rank.wait() for rank in ranks))
