"""Purpose: runs training loops of libraries: transformers' Trainer, accelerate, LBFGS and SGD with closures.

Prints afterwards how often each step ran forward and backward, by the loop's own count.
usage: loops.py trainer|accelerate|lbfgs|closure
"""
import json
import sys
import tempfile

import torch
from torch import nn

STEPS = 4


class Counted(nn.Module):
    """Counts the calls between two updates."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.steps, self.evaluated = [[0, 0]], 0

    def forward(self, x, labels=None):
        if torch.is_grad_enabled():
            self.steps[-1][0] += 1
            x = x.clone().requires_grad_()
            x.register_hook(self.went_back)
        else:
            self.evaluated += 1
        out = self.inner(x)
        return {"loss": (out.squeeze(-1) - labels).square().mean(), "logits": out}

    def went_back(self, _):
        self.steps[-1][1] += 1

    def updated(self, *_):
        self.steps.append([0, 0])

    def truth(self):
        return {"steps": self.steps[:-1], "evaluated": self.evaluated}


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, index):
        return {"x": torch.full((64,), float(index)), "labels": torch.tensor(float(index))}


def trainer(model):
    from transformers import Trainer, TrainingArguments

    class Watched(Trainer):
        def create_optimizer(self, *args, **kwargs):
            optimizer = super().create_optimizer(*args, **kwargs)
            getattr(optimizer, "optimizer", optimizer).register_step_post_hook(model.updated)
            return optimizer

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=2, gradient_accumulation_steps=2, max_steps=STEPS, report_to=[],
            use_cpu=True, eval_strategy="steps", eval_steps=2, save_steps=2, max_grad_norm=1.0, logging_steps=1,
            disable_tqdm=True)
        Watched(model, arguments, train_dataset=Data(), eval_dataset=Data()).train()


def accelerated(model):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.register_step_post_hook(model.updated)
    loader = torch.utils.data.DataLoader(Data(), batch_size=2)
    prepared, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(prepared):
            accelerator.backward(prepared(**batch)["loss"])
            optimizer.step()
            optimizer.zero_grad()


def closures(model, optimizer):
    batches = [Data()[index] for index in range(STEPS)]
    optimizer.register_step_post_hook(model.updated)
    for batch in batches:

        def closure():
            optimizer.zero_grad()
            loss = model(batch["x"][None], batch["labels"][None])["loss"]
            loss.backward()
            return loss

        optimizer.step(closure)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Counted()
    if sys.argv[1] == "lbfgs":
        closures(model, torch.optim.LBFGS(model.parameters(), max_iter=3))
    elif sys.argv[1] == "closure":
        closures(model, torch.optim.SGD(model.parameters(), lr=1e-3))
    else:
        {"trainer": trainer, "accelerate": accelerated}[sys.argv[1]](model)
    print(json.dumps(model.truth()))


if __name__ == "__main__":
    main()
