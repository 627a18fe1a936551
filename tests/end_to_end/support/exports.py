"""Purpose: traces of several kinds for the tests of `memtrace export`, and the figures that an export must have."""
import lzma
import os
import subprocess

import harness
from harness import COMMAND, Case, bare_environment, program, victim

TRAINING = """
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)])
optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
for _ in range(3):
    model(torch.randn(256, 1024)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


class ExportCase(Case):
    """Each `trace_…` makes the traces of one job in self.out."""

    def trace_c(self):
        self.trace([victim("known_memory")], harness.RECORD_ALL)

    def trace_processes(self):
        self.trace([harness.torch_python(), program("forks.py"), "hold"], harness.RECORD_ALL)

    def trace_training(self):
        path = os.path.join(self.scratch, "train.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TRAINING)
        self.trace([harness.torch_python(), path])

    def snapshot(self, name="train"):
        """Returns the path of a memory snapshot of PyTorch, which every command reads as a trace."""
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "devices", "torch_snapshots")
        path = os.path.join(self.scratch, f"{name}.pickle")
        with lzma.open(os.path.join(folder, f"{name}.pickle.xz")) as packed, open(path, "wb") as file:
            file.write(packed.read())
        return path

    def command(self, *arguments, status=0):
        done = subprocess.run([COMMAND, *arguments], env=bare_environment(), capture_output=True, cwd=self.scratch,
                              stdin=subprocess.DEVNULL, check=False, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        return done.stdout if status == 0 else done.stderr.decode()

    def export(self, form, *options, of=None):
        """Returns the path of the exported file. A second export must be equal."""
        path = os.path.join(self.scratch, f"exported.{form}")
        for copy in (path, path + ".again"):
            self.command("export", of or self.out, "--to", form, "-o", copy, *options)
        with open(path, "rb") as first, open(path + ".again", "rb") as second:
            self.assertEqual(first.read(), second.read(), "not the same twice")
        return path

    def kinds(self):
        """Makes each kind of trace in turn, and gives its name and path."""
        for name in ("c", "training", "processes"):
            self.new_scratch()
            getattr(self, "trace_" + name)()
            yield name, self.out
        self.new_scratch()
        yield "snapshot", self.snapshot()


def leading_peak(process):
    """Returns the memory, the measure and the bytes of the peak that the report leads with: tensors if they are half of
    the memory's peak. Without reservations that were never touched."""
    tensors = {peak["memory"]: peak["bytes"] for peak in process["peaks"] if peak["measure"] == "tensor"}
    memory = process["findings"][0]["memory"] if process["findings"] else max(tensors, key=lambda one: (tensors[one], one == "host"))
    live = next(peak for peak in process["peaks"] if peak["memory"] == memory and peak["measure"] == "live")
    allocated = live["bytes"] - live.get("reserved_untouched", 0)
    by_tensors = tensors[memory] > 0 and (tensors[memory] >= allocated // 2 or process["trace"].get("torch_snapshot"))
    return (memory, "tensor", tensors[memory]) if by_tensors else (memory, "live", allocated)
