"""Purpose: normalizes a stack of scans.

Thread: jrkerns/pylinac#510
Question: Normalizing an image takes several times the memory of the image.
Answer: The division of an int16 array returns float64, four times its size. Give the result a smaller type.
Finding: lines
Needs: numpy
"""
import sys

import numpy as np

MENDED = "--mended" in sys.argv
SHAPE = (24, 1024, 1024)


def normalize(stack):
    if MENDED:
        return np.divide(stack, stack.max(), dtype=np.float32)
    return stack / stack.max()  # CAUSE


def main():
    stack = np.random.default_rng(0).integers(1, 4096, SHAPE, dtype=np.int16)
    print("mean", normalize(stack).mean())
    print("truth", stack.size * 8)


main()
