"""Work for scripts/gpu_check: what training scripts do with a GPU, one way each, beside PyTorch's own counters.

usage: work_scenes.py SCENE     (a function below whose name begins with scene_)
The last line of stdout is JSON: the truth that a report of memtrace is held against.
"""
import glob
import importlib.util
import json
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, LAYERS, WORDS, LENGTH, BATCH = 512, 8, 4, 5003, 256, 8
MIB = 1 << 20


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        parts = self.qkv(self.norm(x)).view(x.shape[0], -1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, checkpointed=False):
        super().__init__()
        self.checkpointed = checkpointed
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpointed else layer(x)
        return self.head(x)


def tokens():
    return torch.randint(WORDS, (BATCH, LENGTH), device="cuda:0")


def loss_of(model, batch):
    return functional.cross_entropy(model(batch).float().flatten(0, 1), batch.flatten())


def train(model, steps=4, dtype=None, scaler=None, micro=1, after=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        for _ in range(micro):
            with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
                loss = loss_of(model, tokens())
            (scaler.scale(loss) if scaler else loss).backward()
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad()
        if after:
            after()
    return {"parameters": sum(p.numel() for p in model.parameters())}


def scene_checkpointing():
    return train(Model(checkpointed=True).cuda())


def scene_accumulation():
    return train(Model().cuda(), micro=3)


def scene_autocast():
    return train(Model().cuda(), dtype=torch.float16, scaler=torch.amp.GradScaler("cuda"))


def scene_bf16():
    return train(Model().to("cuda", torch.bfloat16))


def scene_empty_cache():
    return train(Model().cuda(), after=torch.cuda.empty_cache)


def scene_compile():
    """Without Triton, the graphs that the compiler cuts forward and backward into run as they are."""
    model = Model().cuda()
    known = train(model, steps=1)
    backend = "inductor" if importlib.util.find_spec("triton") else "aot_eager"
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache  # Triton's kernels, too
        train(torch.compile(model, backend=backend))
        kernels = len(glob.glob(os.path.join(cache, "**", "*.cubin"), recursive=True))
    return {**known, "backend": f"{backend}, {kernels} kernels"}


def scene_mempool():
    """Blocks in a pool of the user's, beside training."""
    known = train(Model().cuda(), steps=2)
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept = [torch.empty(size * MIB, dtype=torch.uint8, device="cuda:0") for size in (3, 21, 50)]
    del kept[1]
    return known


def scene_streams():
    """Blocks that two streams use: the allocator returns them late."""
    side = torch.cuda.Stream()
    kept = []
    for number in range(20):
        block = torch.full((4 * MIB,), float(number), device="cuda:0")
        with torch.cuda.stream(side):
            kept.append(block[:MIB].clone())
        block.record_stream(side)
        del block
    torch.cuda.synchronize()
    return {}


def scene_convolution():
    layers = [nn.Sequential(nn.Conv2d(3 if n == 0 else 64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
              for n in range(6)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
    torch.backends.cudnn.benchmark = True
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        model(torch.randn(32, 3, 128, 128, device="cuda:0")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return {"parameters": sum(p.numel() for p in model.parameters())}


def scene_retry():
    """A request that fits only after the cache was emptied, then one that fails and is caught."""
    free, _ = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(min(1.0, 6 * 1024 * MIB / torch.cuda.mem_get_info()[1]))
    first = torch.empty(3000 * MIB, dtype=torch.uint8, device="cuda:0")
    del first
    second = torch.empty(4000 * MIB, dtype=torch.uint8, device="cuda:0")
    caught = 0
    try:
        second.third = torch.empty(free, dtype=torch.uint8, device="cuda:0")
    except torch.OutOfMemoryError:
        caught += 1
    return {"caught": caught}


def counters(card):
    return {"max_memory_allocated": torch.cuda.max_memory_allocated(card),
            "max_memory_reserved": torch.cuda.max_memory_reserved(card)}


def scene_two_cards():
    """Half of the model on each card, so that activations and their gradients go from one to the other."""
    if torch.cuda.device_count() < 2:
        return {"missing": "a second card"}
    model, cards = Model(), ("cuda:0", "cuda:1")
    model.words.to(cards[0])
    model.head.to(cards[1])
    for number, layer in enumerate(model.layers):
        layer.to(cards[number >= LAYERS // 2])
        layer.register_forward_pre_hook(lambda _, inputs, card=cards[number >= LAYERS // 2]: inputs[0].to(card))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(4):
        batch = tokens()
        functional.cross_entropy(model(batch).flatten(0, 1), batch.to(cards[1]).flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    return {"parameters": sum(p.numel() for p in model.parameters()), "cards": {card: counters(card) for card in cards}}


def borrow(inbox, outbox):
    """Another process: it maps the tensor and makes one of the same size."""
    borrowed = inbox.get()
    made = torch.empty_like(borrowed).copy_(borrowed)
    outbox.put({"pid": os.getpid(), "bytes": made.numel(), **counters(0)})
    inbox.get()


def scene_ipc():
    """A tensor that another process uses too: its memory is of the one that made it."""
    from torch import multiprocessing
    processes = multiprocessing.get_context("spawn")
    inbox, outbox = processes.Queue(), processes.Queue()
    other = processes.Process(target=borrow, args=(inbox, outbox))
    other.start()
    lent = torch.ones(30 * MIB, dtype=torch.uint8, device="cuda:0")
    inbox.put(lent)
    answer = outbox.get(timeout=100)
    inbox.put(None)
    other.join()
    return {"other": answer}


def scene_to_and_back():
    """A tensor goes to the card, is changed there and comes back, as in DeepSpeed's report of missing memory."""
    x = torch.randn(64 * MIB)
    x = x.to("cuda")
    x.mul_(2)
    x = x.cpu()
    return {"host_bytes": x.numel() * x.element_size()}


def scene_ddp():
    """One rank of DistributedDataParallel over NCCL: its buckets are a second copy of the gradients."""
    torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
    known = train(nn.parallel.DistributedDataParallel(Model().cuda(), device_ids=[0]))
    torch.distributed.destroy_process_group()
    return known


def scene_fsdp():
    """One rank of FSDP2 over NCCL: each layer's parameters are gathered for its forward and its backward."""
    from torch.distributed.fsdp import fully_shard
    torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
    model = Model().cuda()
    for layer in model.layers:
        fully_shard(layer)
    train(fully_shard(model))
    torch.distributed.destroy_process_group()
    return {}


def scene_transformers():
    """A small GPT-2 of transformers by its Trainer's parts: its own attention, loss and AdamW."""
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for _ in range(4):
        batch = torch.randint(50257, (4, 256), device="cuda:0")
        model(batch, labels=batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return {"parameters": sum(p.numel() for p in model.parameters())}


def main():
    torch.manual_seed(0)
    known = globals()["scene_" + sys.argv[1]]()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    print(json.dumps({
        "pid": os.getpid(), "torch": torch.__version__, "device": torch.cuda.get_device_name(0),
        "max_memory_allocated": torch.cuda.max_memory_allocated(),
        "max_memory_reserved": torch.cuda.max_memory_reserved(),
        "retries": stats.get("num_alloc_retries"), "ooms": stats.get("num_ooms"), **known}))


if __name__ == "__main__":
    main()
