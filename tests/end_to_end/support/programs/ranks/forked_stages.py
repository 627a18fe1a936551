"""Purpose: runs stages.py in WORLD_SIZE ranks that are forked after the import of PyTorch, so it is imported once."""
import os
import runpy
import sys

import torch

torch.set_num_threads(1)
pids = []
for number in range(int(os.environ["WORLD_SIZE"])):
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(number)
    pids.append(os.fork())
    if pids[-1] == 0:
        runpy.run_path(os.path.join(os.path.dirname(__file__), "stages.py"), run_name="__main__")
        sys.exit(0)
sys.exit(max(os.waitpid(pid, 0)[1] != 0 for pid in pids))
