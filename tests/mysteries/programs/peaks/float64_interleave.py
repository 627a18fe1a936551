"""Purpose: ranks the features of a table and hands them to a model as float32.

Thread: mikeycdavis/Numerai#76
Question: The conversion to float32 fails to allocate 56 GiB for an array of float64.
Answer: The ranks are float64, so pandas first makes one float64 array of all columns, and NumPy converts it
    afterwards. Cast the columns right after the ranking.
Finding: lines
Needs: numpy, pandas
"""
import sys

import numpy as np
import pandas as pd

MENDED = "--mended" in sys.argv
ROWS, COLUMNS = 200_000, 48


def main():
    random = np.random.default_rng(0)
    columns = [f"feature_{number}" for number in range(COLUMNS)]
    train = {}
    for name in columns:
        values = pd.Series(random.integers(0, 5, ROWS, dtype=np.int8)).rank(pct=True)
        train[name] = values.astype(np.float32) if MENDED else values
    train = pd.DataFrame({name: train.pop(name) for name in columns}, copy=False)
    features = np.array(train[columns].values, dtype=np.float32)  # CAUSE
    print("shape", features.shape, "mean", features.mean())
    # The interleaved float64 array and its float32 copy.
    print("truth", ROWS * COLUMNS * (8 + 4))


main()
