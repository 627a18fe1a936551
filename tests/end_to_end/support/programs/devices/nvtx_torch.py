"""Purpose: makes ranges by torch.cuda.nvtx, in each way. Each range allocates its own number of MiB."""
import ctypes

from torch.cuda import nvtx

MIB = 1 << 20
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]

nvtx.range_push("pushed")
libc.malloc(3 * MIB)
nvtx.range_pop()
with nvtx.range("range {}", 7):
    libc.malloc(4 * MIB)
started = nvtx.range_start("started")
libc.malloc(5 * MIB)
nvtx.range_end(started)
