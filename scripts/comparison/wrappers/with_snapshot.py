"""Purpose: runs a script with PyTorch's memory history, and writes its snapshot at the end.

usage: with_snapshot.py SNAPSHOT SCRIPT
"""
import runpy
import sys

import torch

snapshot, script = sys.argv[1:3]
sys.argv[:] = [script]
torch.cuda.memory._record_memory_history()
runpy.run_path(script, run_name="__main__")
torch.cuda.memory._dump_snapshot(snapshot)
