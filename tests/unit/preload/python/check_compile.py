# Purpose: torch.compile, export, jit and fx give what they give without the wrappers: same graphs, no more breaks.
# In a Python with PyTorch under the probe.
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import warnings


def models():
    """Two models: one plain, one that checkpoints."""
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x):
            return self.b(torch.relu(self.a(x)))

    class Checkpointed(Model):
        def forward(self, x):
            return self.b(checkpoint(self.a, x, use_reentrant=False))

    return Model, Checkpointed


def explained(function, *arguments):
    import torch

    torch._dynamo.reset()
    got = torch._dynamo.explain(function)(*arguments)
    return [got.graph_count, got.graph_break_count]


def measure_models(out, x, Model, Checkpointed):
    import torch

    for name, model in (("model", Model()), ("checkpointed", Checkpointed())):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        compiled(x).sum().backward()
        out[name] = [float(p.grad.abs().sum()) for p in model.parameters()]
        out[name + " equals eager"] = torch.allclose(compiled(x), model(x))
        out[name + " explained"] = explained(model, x)
    model = Model()
    model.compile(backend="eager", fullgraph=True)
    out["model.compile()"] = tuple(model(x).shape)
    torch._dynamo.reset()


def measure_functions(out, x, inner):
    import torch

    out["function"] = tuple(torch.compile(lambda y: inner(y) + 1, backend="eager", fullgraph=True)(x).shape)

    def breaks(y):
        y = inner(y)
        torch._dynamo.graph_break()
        return inner.b(inner.a(x)) + y

    out["breaks"] = explained(breaks, x)
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.1)

    def whole(y):
        inner(y).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    inner(x).sum().backward()
    out["step"] = explained(optimizer.step)
    out["whole"] = explained(whole, x)


def measure_training(out):
    """A compiled step of training. Between graphs, dynamo compiles each Python function that runs, also a wrapper."""
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters())

    @torch.compile(backend="eager")
    def train(x):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            train(torch.ones(2, 4))
    out["training"] = [dict(counters["frames"]), sorted({str(one.message)[:60] for one in said})]
    torch._dynamo.reset()


def measure_hooks(out, model, x):
    """What the program can see: PyTorch's tables of hooks, the callbacks of the collector, recompiles."""
    import gc

    import torch
    from torch._dynamo.utils import counters
    from torch.nn.modules import module

    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    for rows in (2, 2, 3, 5):  # dynamo compiles again for another size, once
        compiled(x[:1].expand(rows, -1)).sum().backward()
    out["counters"] = {name: dict(counters[name]) for name in ("stats", "frames", "graph_break", "recompiles", "unimplemented")}
    out["hook tables"] = {name: len(table) for name, table in vars(module).items() if name.startswith("_global_") and hasattr(table, "__len__")}
    out["hooks of modules"] = [len(table) for part in model.modules() for name, table in vars(part).items() if "hooks" in name]
    out["gc.callbacks"] = len(gc.callbacks)
    torch._dynamo.reset()


def measure_exports(out, x, inner, Model):
    import torch

    out["exported"] = len(list(torch.export.export(Model(), (x,)).graph.nodes))
    out["fx"] = len(list(torch.fx.symbolic_trace(Model()).graph.nodes))
    out["jit"] = str(torch.jit.trace(Model(), x).graph).count("\n") > 0 and tuple(torch.jit.script(Model())(x).shape)
    out["func"] = tuple(torch.func.functional_call(inner, dict(inner.named_parameters()), (x,)).shape)
    headers = os.path.join(sysconfig.get_path("include"), "Python.h")
    if os.path.exists(headers) and (shutil.which("c++") or shutil.which("g++")):  # what inductor's output needs
        torch._dynamo.reset()
        compiled = torch.compile(Model())
        compiled(x).sum().backward()
        out["inductor"] = tuple(compiled(x).shape)


def measure():
    """Graphs and breaks, on a backend that runs the graphs as they are; printed as JSON."""
    import torch

    torch.manual_seed(0)
    Model, Checkpointed = models()
    x = torch.ones(2, 4)
    out = {}
    measure_models(out, x, Model, Checkpointed)
    inner = Model()
    measure_functions(out, x, inner)
    measure_training(out)
    measure_hooks(out, inner, x)
    measure_exports(out, x, inner, Model)
    print(json.dumps(out))


def compiled_forward_is_marked():
    import torch

    import probe

    model = torch.nn.Linear(2, 2)
    compiled = torch.compile(model, backend="eager")
    compiled(torch.zeros(1, 2))
    probe.clear()
    compiled(torch.zeros(1, 2)).sum().backward()
    got = [line for line in probe.log() if not line.startswith(("parameters", "dtype"))]
    assert got == ["begin forward", "end forward", "begin backward", "end backward"], got
    assert probe.depth() == 0


def main():
    environment = dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="1")
    results = []
    for preload in (None, os.environ["LD_PRELOAD"]):
        environment.pop("LD_PRELOAD", None)
        if preload:
            environment["LD_PRELOAD"] = preload
        done = subprocess.run([sys.executable, __file__, "measure"], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        results.append((json.loads(done.stdout), done.stderr))
    for name, value in results[0][0].items():
        here = results[1][0][name]
        print("%-24s %s%s" % (name, value, "" if here == value else "  traced: %s" % here))
        assert here == value, name
    compiled_forward_is_marked()
    print("ok compile")


if sys.argv[1:] == ["measure"]:
    measure()
else:
    main()
