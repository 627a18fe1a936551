"""Ordinary programs that waste no memory that memtrace has a finding for.

usage: clean.py NAME
"""
import os
import sys
import tempfile

import numpy
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

STEPS = 4


def train(model, optimizer, batch, loss_of):
    for step in range(STEPS):
        loss = loss_of(model, *batch(step))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return float(loss.detach())


def mlp():
    return nn.Sequential(nn.Linear(2048, 4096), nn.ReLU(), nn.Linear(4096, 2048), nn.ReLU(), nn.Linear(2048, 16))


def numbers(_):
    return torch.randn(256, 2048), torch.randint(16, (256,))


def mlp_sgd():
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    train(model, optimizer, numbers, lambda model, x, y: cross_entropy(model(x), y))


def mlp_fused_adamw_autocast():
    model = mlp()

    def loss_of(model, x, y):
        with torch.autocast("cpu", torch.bfloat16):
            return cross_entropy(model(x), y)

    train(model, torch.optim.AdamW(model.parameters(), fused=True), numbers, loss_of)


def cnn_adam():
    """Evaluates after each epoch, and saves the best state to a file."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
                          nn.Flatten(), nn.Linear(1024, 8192), nn.ReLU(), nn.Linear(8192, 10))
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            model.train()
            train(model, optimizer, lambda _: (torch.randn(32, 3, 64, 64), torch.randint(10, (32,))),
                  lambda model, x, y: cross_entropy(model(x), y))
            schedule.step()
            model.eval()
            with torch.no_grad():
                model(torch.randn(32, 3, 64, 64))
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()},
                       os.path.join(folder, "best.pt"))
        model.load_state_dict(torch.load(os.path.join(folder, "best.pt"), mmap=True)["model"])


def encoder_rmsprop_accumulated():
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    model = nn.Sequential(nn.Embedding(30000, 256), nn.TransformerEncoder(layer, 4), nn.Linear(256, 64))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
    for _ in range(4):
        for _ in range(2):
            x = torch.randint(30000, (8, 128))
            (mse_loss(model(x), torch.zeros(8, 128, 64)) / 2).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def bert():
    import transformers
    config = transformers.BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                     intermediate_size=1024, num_labels=3)
    model = transformers.BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, 2, STEPS)
    for _ in range(STEPS):
        words = torch.randint(1000, (8, 128))
        out = model(input_ids=words, attention_mask=torch.ones_like(words), labels=torch.randint(3, (8,)))
        out.loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=False)


def gpt():
    """Uses checkpointed layers."""
    import transformers
    config = transformers.GPT2Config(n_embd=512, n_layer=6, n_head=8, vocab_size=2000, n_positions=256)
    model = transformers.GPT2LMHeadModel(config)
    model.gradient_checkpointing_enable()
    words = torch.randint(2000, (2, 128))
    train(model, torch.optim.Adagrad(model.parameters(), foreach=False), lambda _: (words,),
          lambda model, x: model(input_ids=x, labels=x).loss)


def generate():
    import transformers
    config = transformers.GPT2Config(n_embd=512, n_layer=6, n_head=8, vocab_size=20000)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.inference_mode():
        for _ in range(3):
            model.generate(torch.randint(20000, (4, 32)), max_new_tokens=24, do_sample=False, pad_token_id=0)


class Images(torch.utils.data.Dataset):
    """Images in the parent's memory, which the workers share."""

    def __init__(self):
        self.all = torch.randint(255, (2000, 3, 64, 64), dtype=torch.uint8)

    def __len__(self):
        return 192

    def __getitem__(self, index):
        return self.all[index].float() / 255, index % 10


def loader():
    loader = torch.utils.data.DataLoader(Images(), batch_size=16, shuffle=True, num_workers=2)
    model = nn.Sequential(nn.Conv2d(3, 32, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(16), nn.Flatten(),
                          nn.Linear(8192, 2048), nn.ReLU(), nn.Linear(2048, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in loader:
        cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


def arrays():
    """Uses no framework: a regression, its error, a file."""
    random = numpy.random.default_rng(0)
    x, y = random.standard_normal((100_000, 200)), random.standard_normal(100_000)
    for _ in range(20):
        weights = numpy.linalg.lstsq(x.T @ x, x.T @ y, rcond=None)[0]
        y -= 0.1 * (x @ weights)
    with tempfile.TemporaryFile() as file:
        numpy.save(file, x)


def lbfgs():
    model = nn.Linear(4096, 1024)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, history_size=3)
    x, y = torch.randn(64, 4096), torch.randn(64, 1024)
    for _ in range(4):
        def closure():
            optimizer.zero_grad()
            loss = mse_loss(model(x), y)
            loss.backward()
            return loss
        optimizer.step(closure)


def averaged():
    """Averages the weights from before the first step, and writes safetensors at the end."""
    import safetensors.torch
    model = mlp()
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.NAdam(model.parameters())
    for step in range(STEPS):
        x, y = numbers(step)
        cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
    with tempfile.TemporaryDirectory() as folder:
        safetensors.torch.save_file(average.module.state_dict(), os.path.join(folder, "average.safetensors"))


def compiled():
    model = mlp()
    fast = torch.compile(model)
    train(model, torch.optim.SGD(model.parameters(), lr=0.01), numbers, lambda _, x, y: cross_entropy(fast(x), y))


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
