"""Train a small GPT with AdamW (foreach) on the CPU, on one thread. Run by scripts/bench.

small: 3 million parameters, many steps of some 35 ms: where a tracer costs most for each second of computing.
short: steps of a third of that.
large: 60 million parameters, few steps of more than a second.
Says what the steps took of this process's CPU time, without the import and the first steps.
"""
import argparse
import resource
import time

import torch
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

SIZES = {  # configuration, batch, steps that are not counted
    "small": ({"vocab_size": 2048, "n_positions": 64, "n_embd": 192, "n_layer": 6, "n_head": 6}, (4, 32), 10),
    "short": ({"vocab_size": 2048, "n_positions": 64, "n_embd": 192, "n_layer": 2, "n_head": 6}, (2, 32), 10),
    "large": ({"vocab_size": 16384, "n_positions": 256, "n_embd": 640, "n_layer": 10, "n_head": 10}, (2, 128), 1),
}


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("steps", type=int)
    arguments = parser.parse_args()
    shape, batch, warm_up = SIZES[arguments.size]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0, use_cache=False))
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=True)
    began, began_cpu = time.monotonic(), cpu()  # counts if no step follows the first ones
    for step in range(warm_up + arguments.steps):
        if step == warm_up:
            began, began_cpu = time.monotonic(), cpu()
        tokens = torch.randint(0, shape["vocab_size"], batch)
        logits = model(input_ids=tokens).logits
        loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(f"bench: steps={arguments.steps} steps_cpu={cpu() - began_cpu:.6f} "
          f"steps_wall={time.monotonic() - began:.6f}", flush=True)
    print(f"loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
