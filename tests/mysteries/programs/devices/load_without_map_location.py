"""Purpose: resumes training on two GPUs from the snapshot that rank 0 saved.

Thread: pytorch/examples#1078
Question: After resuming, the memory of GPU 0 is much fuller than that of the other GPUs. Why is the load unbalanced?
Answer: torch.load puts each tensor on the GPU that it was saved from, which is GPU 0, in each rank. map_location must
  name the rank's own GPU.
Finding: wrong-device
Needs: torch
Run: cuda
"""
import os
import sys
import tempfile

import torch

MENDED = "--mended" in sys.argv
LAYERS, WIDTH, GPUS = 8, 2048, 2


def resume(model, rank, path):
    snapshot = torch.load(path, map_location=torch.device("cuda", rank) if MENDED else None)  # CAUSE
    model.load_state_dict(snapshot)


def train(rank, path):
    store = f"file://{os.path.abspath(path)}.store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=GPUS)
    torch.cuda.set_device(rank)
    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)]).cuda()
    resume(model, rank, path)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        model(torch.ones(64, WIDTH, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.distributed.destroy_process_group()


def first_job(path):
    torch.save({f"{i}.weight": torch.zeros(WIDTH, WIDTH, device="cuda:0") for i in range(LAYERS)}, path)


def run_all(path):
    processes = torch.multiprocessing.get_context("fork")
    for ranks in ([processes.Process(target=first_job, args=(path,))],
                  [processes.Process(target=train, args=(rank, path)) for rank in range(GPUS)]):
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()


with tempfile.TemporaryDirectory() as folder:
    run_all(os.path.join(folder, "snapshot.pt"))
print("truth", LAYERS * WIDTH * WIDTH * 4)
