"""Purpose: makes copies beside the model: activations on the host, recomputed activations, checkpoints.

Prints the sizes afterwards, by PyTorch's own figures.
usage: copies.py offload|recompute|recompute-reentrant|save|async|snapshot|generate
"""
import io
import json
import sys
import tempfile

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

WIDTH, BATCH, LAYERS = 512, 256, 6


def bytes_of(tensors):
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


class Model(nn.Module):
    def __init__(self, reentrant=None):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
        self.reentrant = reentrant

    def forward(self, x):
        for layer in self.layers:
            if self.reentrant is None:
                x = self.part(layer, x)
            else:
                x = checkpoint(self.part, layer, x, use_reentrant=self.reentrant)
        return x

    def part(self, layer, x):  # not a module: only its checkpoint identifies the recomputed tensors
        return torch.tanh(layer(x).sin() * 2)


def batch():
    return torch.ones(BATCH, WIDTH, requires_grad=True)


def step(model, optimizer):
    optimizer.zero_grad()
    model(batch()).sum().backward()
    optimizer.step()


def offload():
    """PyTorch pins the packed tensors if there is a GPU; here it copies anyway."""
    model, saved = Model(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with saved_tensors_hooks(lambda tensor: saved.append(tensor.nbytes) or tensor.detach(), lambda tensor: tensor):
        model(batch())
    for _ in range(3):
        optimizer.zero_grad()
        with save_on_cpu(pin_memory=True):
            loss = model(batch()).sum()
        loss.backward()
        optimizer.step()
    return {"activation": sum(saved)}


def recompute(reentrant):
    """The peak is in the recomputation of one part: linear's output is saved, the sine and its double are not.
    """
    model = Model(reentrant)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(3):
        step(model, optimizer)
    one = BATCH * WIDTH * 4
    return {"activation": one, "temporary": 2 * one, "calls": LAYERS}


def save():
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters())
    step(model, optimizer)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    return {"parameter": bytes_of(model.parameters()), "optimizer_state": 2 * bytes_of(model.parameters()),
            "file": file.tell()}


def snapshot():
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters())
    step(model, optimizer)
    copies = {name: value.clone() for name, value in model.state_dict().items()}
    with tempfile.NamedTemporaryFile() as file:
        torch.save({"model": copies}, file)
    optimizer.step()
    return {"parameter": bytes_of(model.parameters()), "checkpoint": bytes_of(copies.values())}


def asynchronous():
    from torch.distributed.checkpoint import FileSystemWriter, async_save

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters())
    step(model, optimizer)
    with tempfile.TemporaryDirectory() as folder:
        async_save({"model": model.state_dict()}, storage_writer=FileSystemWriter(folder), no_dist=True).result()
    step(model, optimizer)
    return {"parameter": bytes_of(model.parameters()), "staging": bytes_of(model.parameters())}


def generate():
    """Keeps keys and values of each token in each layer. The truth is the cache's own size after the last
    token."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_head=4, n_embd=128, vocab_size=64, n_positions=256,
                                       bos_token_id=0, eos_token_id=0)).eval()
    out = model.generate(torch.ones(16, 8, dtype=torch.long), max_new_tokens=100, min_new_tokens=100, do_sample=False,
                         pad_token_id=0, return_dict_in_generate=True)
    layers = out.past_key_values.layers
    return {"kv_cache": sum(layer.keys.nbytes + layer.values.nbytes for layer in layers), "layers": len(layers)}


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    run = {"offload": offload, "save": save, "snapshot": snapshot, "async": asynchronous, "generate": generate,
           "recompute": lambda: recompute(False), "recompute-reentrant": lambda: recompute(True)}[sys.argv[1]]
    print(json.dumps(run()))


if __name__ == "__main__":
    main()
