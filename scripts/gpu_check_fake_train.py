"""Where there is no GPU: what scripts/gpu_check_test.py has traced in place of gpu_check_train.py.

A training run on the CPU that calls cudaMalloc of a fake CUDA runtime and reports blocks of cuda:0 to PyTorch's
profiler hook, as the caching allocator does, and keeps its own account of them.
"""
import ctypes
import json
import os
import sys

import torch

CUDA = 1
PROGRAM = ctypes.CDLL(None)


class Device:
    def __init__(self, runtime):
        # Calls go through the program's global scope, where the preload object is first, if it is there.
        self.runtime = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
        self.c10 = ctypes.CDLL("libc10.so", mode=ctypes.RTLD_GLOBAL)
        self.report = PROGRAM._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
        self.report.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int16]
        self.level = self.reserved = self.used = 0
        self.top = self.window = 0

    def segment(self, size):
        pointer = ctypes.c_void_p()
        assert PROGRAM.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
        self.base, self.room, self.used = pointer.value, size, 0
        self.reserved += size

    def allocate(self, size):
        if not self.reserved or self.used + size > self.room:
            self.segment(20 << 20)
        block = (self.base + self.used, size)
        self.used += size
        self.level += size
        self.top, self.window = max(self.top, self.level), max(self.window, self.level)
        self.report(block[0], size, self.level, self.reserved, CUDA)
        return block

    def free(self, block):
        self.level -= block[1]
        self.report(block[0], -block[1], self.level, self.reserved, CUDA)


device = Device(os.environ["FAKE_CUDART"])


class Held(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.block = device.allocate(3 << 20)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        temporary = device.allocate(5 << 20)
        device.free(ctx.block)
        device.free(temporary)
        return grad


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)
        self.block = device.allocate(512 + (1 << 20))

    def forward(self, x):
        return Held.apply(self.linear(x))


class Optimizer(torch.optim.SGD):
    state_block = None

    def step(self, closure=None):
        self.state_block = self.state_block or device.allocate(2 << 20)
        temporary = device.allocate(7 << 20)
        super().step(closure)
        device.free(temporary)


def main():
    model = Model()
    optimizer = Optimizer(model.parameters(), lr=0.1)
    host = torch.empty(16 << 20)  # over MEMTRACE_MIN_PEAK
    phases = []

    def run(phase, step, call):
        device.window = device.level
        result = call()
        phases.append({"phase": phase, "step": step, "peak": device.window, "exit": device.level})
        return result

    for step in range(3):
        output = run("forward", step, lambda: model(torch.ones(2, 64)))
        loss = output.sum()
        run("backward", step, loss.backward)
        run("step", step, optimizer.step)
        optimizer.zero_grad()
    del host
    print(json.dumps({"pid": os.getpid(), "max_memory_allocated": device.top, "max_memory_reserved": device.reserved,
                      "phases": phases if "--phases" in sys.argv else [],
                      "parameters": sum(p.numel() for p in model.parameters())}))


if __name__ == "__main__":
    main()
