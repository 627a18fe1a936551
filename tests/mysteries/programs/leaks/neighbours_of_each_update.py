"""Purpose: moves particles, and caches the neighbours of each.

Thread: pypr/pysph#178
Question: With the cache of the neighbour search, memory grows without bound.
Answer: The lengths of the neighbour lists were not reset on each update. Reset them.
Finding: leak-per-event
Needs: numpy
Pattern: a grid of cells stands for the search.
"""
import sys

import numpy as np

MENDED = "--mended" in sys.argv
UPDATES, PARTICLES, CELLS = 60, 100_000, 64


class NeighbourCache:
    def __init__(self):
        self.lengths = []

    def update(self, positions):
        if MENDED:
            self.lengths.clear()
        cells = (positions * CELLS).astype(np.int64) % CELLS
        index = cells[:, 0] * CELLS + cells[:, 1]
        counts = np.bincount(index, minlength=CELLS * CELLS)
        self.lengths.append(counts[index])  # CAUSE
        return self.lengths[-1]


def main():
    random = np.random.default_rng(0)
    positions, speeds = random.random((PARTICLES, 2)), random.standard_normal((PARTICLES, 2)) * 1e-3
    cache = NeighbourCache()
    for _ in range(UPDATES):
        crowding = cache.update(positions)
        positions = (positions + speeds / (1 + crowding[:, None])) % 1
    print("truth", PARTICLES * 8)


main()
