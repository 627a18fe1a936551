"""Purpose: two ranks in two pipeline stages, by DeepSpeed's grid or by Megatron's groups: the first argument.

Prints what the engine says about the rank: its number, its stage, its place among the replicas.
"""
import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="file://" + os.path.abspath("rendezvous"), rank=int(os.environ["RANK"]),
                        world_size=int(os.environ["WORLD_SIZE"]))
if sys.argv[1] == "megatron":
    from megatron.core import parallel_state
    parallel_state.initialize_model_parallel(pipeline_model_parallel_size=2)
    place = parallel_state.get_pipeline_model_parallel_rank(), parallel_state.get_data_parallel_rank()
else:
    import deepspeed
    from deepspeed.runtime.pipe.topology import PipeDataParallelTopology, PipelineParallelGrid
    for extension in ("deepspeed_shm_comm", "deepspeed_ccl_comm"):  # each would be compiled; gloo needs neither
        deepspeed.ops.__compatible_ops__[extension] = False
    deepspeed.init_distributed("gloo")
    grid = PipelineParallelGrid(topology=PipeDataParallelTopology(num_pp=2, num_dp=1))
    place = grid.get_stage_id(), grid.get_data_parallel_id()
held = torch.ones(20 << 20)
print("place", dist.get_rank(), *place)
