# Purpose: torch.compile, export, jit and fx give what they give without the wrappers: same graphs, no more breaks.
# In a Python with PyTorch under the probe.
import json
import os
import shutil
import subprocess
import sys
import sysconfig


def measure():
    """Graphs and breaks, on a backend that runs the graphs as they are; printed as JSON."""
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    out = {}

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x):
            return self.b(torch.relu(self.a(x)))

    class Checkpointed(Model):
        def forward(self, x):
            return self.b(checkpoint(self.a, x, use_reentrant=False))

    x = torch.ones(2, 4)

    def explain(name, function, *arguments):
        torch._dynamo.reset()
        got = torch._dynamo.explain(function)(*arguments)
        out[name] = [got.graph_count, got.graph_break_count]

    for name, model in (("model", Model()), ("checkpointed", Checkpointed())):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        compiled(x).sum().backward()
        out[name] = [float(p.grad.abs().sum()) for p in model.parameters()]
        out[name + " equals eager"] = torch.allclose(compiled(x), model(x))
        explain(name + " explained", model, x)
    model = Model()
    model.compile(backend="eager", fullgraph=True)
    out["model.compile()"] = tuple(model(x).shape)
    torch._dynamo.reset()
    inner = Model()
    out["function"] = tuple(torch.compile(lambda y: inner(y) + 1, backend="eager", fullgraph=True)(x).shape)

    def breaks(y):
        y = inner(y)
        torch._dynamo.graph_break()
        return inner.b(inner.a(x)) + y

    explain("breaks", breaks, x)
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.1)

    def whole(y):
        inner(y).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    inner(x).sum().backward()
    explain("step", optimizer.step)
    explain("whole", whole, x)
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
