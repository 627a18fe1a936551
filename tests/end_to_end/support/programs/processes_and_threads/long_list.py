"""A list of 2,000,000 strings of 72 bytes, for programs whose workers read it."""
NAMES = [f"item {i} of a long list" for i in range(2_000_000)]
