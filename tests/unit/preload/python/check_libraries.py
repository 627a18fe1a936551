# Purpose: phases of libraries beside PyTorch: transformers, safetensors, process groups.
# In a Python with PyTorch under the probe; what else is missing there is left out, and said.
import os
import tempfile

import probe


def marks():
    return [line for line in probe.log() if line.split()[0] in ("begin", "end", "unbalanced", "note")]


def with_transformers():
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments  # noqa: F401

    assert marks() == [], "importing transformers marks something"
    import torch

    config = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=11, n_positions=16, bos_token_id=0, eos_token_id=1)
    with tempfile.TemporaryDirectory() as folder:
        GPT2LMHeadModel(config).save_pretrained(folder)
        got = marks()
        assert got[0] == "begin load" and "unbalanced" not in got, got
        model = GPT2LMHeadModel.from_pretrained(folder)
        assert marks() == [], "load is open already"
    tokens = torch.tensor([[1, 2, 3]])
    out = model(input_ids=tokens, labels=tokens)
    out.loss.backward()
    assert marks() == ["end load", "begin forward", "end forward", "begin backward", "end backward"]
    model.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=3, do_sample=False, pad_token_id=0)
    assert marks() == ["begin generate", "end generate"]
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        marks()
        again = GPT2LMHeadModel.from_pretrained(folder)
        got = marks()
        assert got == ["begin load", "end load"], got
        with torch.no_grad():
            again(input_ids=tokens)
        assert marks() == ["begin eval grad_off", "end eval"]
        assert transformers.PreTrainedModel.from_pretrained.__func__.__name__ == "from_pretrained"
    model.gradient_checkpointing_enable()
    model.train()
    model(input_ids=tokens, labels=tokens, use_cache=False).loss.backward()
    got = marks()
    loss = ["begin loss", "end loss"]
    assert got[:5] == ["begin forward", "end forward", *loss, "begin backward"] and "begin recompute" in got, got
    trainer_runs(model)


def trainer_runs(model):
    try:
        import accelerate  # noqa: F401
    except ImportError:
        print("left out: Trainer, for accelerate is not here")
        return
    import torch
    from transformers import Trainer, TrainingArguments

    data = [{"input_ids": torch.tensor([1, 2, 3]), "labels": torch.tensor([1, 2, 3])}] * 4
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, per_device_train_batch_size=2, max_steps=2, report_to=[], use_cpu=True)
        Trainer(model, arguments, train_dataset=data).train()
    got = marks()
    assert got.count("begin step") == 2 and "unbalanced" not in got, got


def with_safetensors():
    import safetensors.torch
    import torch

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.safetensors")
        safetensors.torch.save_file({"x": torch.zeros(3)}, path)
        marks()
        assert safetensors.torch.load_file(path)["x"].shape == (3,)
    assert marks() == ["begin load", "end load"]


def with_process_groups():
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import torch

    if not dist.is_available():
        print("left out: process groups")
        return
    with tempfile.NamedTemporaryFile() as file:
        dist.init_process_group("gloo", init_method="file://" + file.name, rank=0, world_size=1)
        assert marks() == ["begin init", "end init", "note rank=0", "note world-size=1"]
        model = DistributedDataParallel(torch.nn.Linear(2, 2))
        marks()
        model(torch.zeros(1, 2)).sum().backward()
        forward, loss, backward = (["begin " + phase, "end " + phase] for phase in ("forward", "loss", "backward"))
        assert marks() == [*forward, *loss, *backward]
        gathers(dist)
        # PyTorch's group joins its threads while it holds the GIL. If one of them still has to free a tensor, which takes
        # the GIL, both wait for ever, without memtrace too. A barrier lets go of the GIL.
        for _ in range(4):
            dist.barrier()
        dist.destroy_process_group()


def gathers(dist):
    import torch

    def labels():
        return [tuple(line.split(" ")[1:4]) for line in probe.log() if line.startswith("label ")]

    one, into = torch.ones(8), [torch.zeros(8)]
    labels()
    dist.gather(one, into, dst=0)
    assert labels() == [("gathered", "", "32")] and into[0].equal(one)
    dist.all_gather(into, one)
    whole = torch.zeros(8)
    getattr(dist, "all_gather_single", dist.all_gather_into_tensor)(whole, one)
    assert ("gathered", "", "32") in labels() and whole.equal(one)
    flat = torch.zeros(8)  # as ZeRO's: the model lies in what is gathered
    layer = torch.nn.Linear(4, 2, bias=False)
    layer.weight.data = flat.view(2, 4)
    layer(torch.zeros(1, 4))
    assert ("parameter", "weight", "32") in labels()
    dist.all_gather([flat], one)
    assert labels() == [] and flat.equal(one)
    layer.weight.data = torch.zeros(2, 4)
    dist.all_gather([flat], one)
    assert labels() == [("gathered", "", "32")]
    try:
        dist.gather(one, "no list", dst=0)
    except TypeError:
        pass
    else:
        raise AssertionError("no error")
    copies = {"kept": torch.ones(4), "gathered": whole, "of it": [whole.clone()]}
    with tempfile.TemporaryFile() as file:
        torch.save(copies, file)
    saved = [label for label in labels() if label[0] == "checkpoint"]
    assert saved == [("checkpoint", "", "16"), ("checkpoint", "", "32")], saved
    assert torch.distributed.gather is torch.distributed.distributed_c10d.gather


def main():
    for check in (with_transformers, with_safetensors, with_process_groups):
        probe.clear()
        try:
            check()
        except ModuleNotFoundError as error:
            print("left out:", check.__name__, error)
            continue
        assert probe.depth() == 0, check.__name__
        print("ok", check.__name__)


main()
