#!/usr/bin/env python3
"""Purpose: no file of the tree is above 1 MiB. A trace or a checkpoint that a program left is often committed by mistake."""
import os
import sys

LIMIT = 1 << 20


def faults(path):
    size = os.path.getsize(path)
    if size > LIMIT:
        yield f"{path}: {size} bytes, above the limit of {LIMIT}: delete it, or make it when it is needed"


found = [fault for path in sys.argv[1:] if os.path.isfile(path) for fault in faults(path)]
print("\n".join(found), file=sys.stderr)
sys.exit(1 if found else 0)
