"""Purpose: takes device memory until the runtime refuses, then gives up with an exception, like PyTorch.

usage: cuda_oom.py LIBCUDART BLOCKS   40 MiB each, then 2 TiB.
"""
import ctypes
import sys

MIB = 1 << 20


def main():
    ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
    cuda = ctypes.CDLL(None)
    cuda.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    block = ctypes.c_void_p()
    for _ in range(int(sys.argv[2])):
        if cuda.cudaMalloc(ctypes.byref(block), 40 * MIB) != 0:
            sys.exit("no room for 40 MiB")
    error = cuda.cudaMalloc(ctypes.byref(block), 1 << 41)
    raise RuntimeError(f"CUDA error {error}: out of memory")


if __name__ == "__main__":
    main()
