"""Purpose: runs a script inside torch.profiler and prints its table of memory, as PyTorch's profiler recipe does.

usage: with_profiler.py SCRIPT
"""
import runpy
import sys

import torch
from torch.profiler import ProfilerActivity, profile

script = sys.argv.pop(1)
sys.argv[0] = script
on_gpu = torch.cuda.is_available()
activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_gpu
with profile(activities=activities, profile_memory=True, record_shapes=True) as profiler:
    runpy.run_path(script, run_name="__main__")
sorted_by = "self_cuda_memory_usage" if on_gpu else "self_cpu_memory_usage"
print(profiler.key_averages().table(sort_by=sorted_by, row_limit=10))
