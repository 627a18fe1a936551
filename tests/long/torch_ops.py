"""Purpose: samples of PyTorch's own table of operators (OpInfo), on the CPU; one line of JSON for each operator's outcome.

usage: torch_ops.py RESULT [EVERY]     every EVERY-th operator of the table, 6 if not given
"""
import json
import sys
import warnings
import zlib

import torch

warnings.simplefilter("ignore")
# The table itself warns and needs expecttest.
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

MOST_SAMPLES = 6


def parts(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from parts(one)


def digest(value):
    """Of the shapes and types of a result."""
    text = "".join(f"{tuple(one.shape)}{one.dtype}" for one in parts(value))
    return zlib.crc32(text.encode())


def try_operator(op):
    if torch.float32 not in op.supported_dtypes("cpu"):
        return "skipped"
    digests = []
    torch.manual_seed(0)
    for number, sample in enumerate(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)):
        if number == MOST_SAMPLES:
            break
        value = op(sample.input, *sample.args, **sample.kwargs)
        digests.append(digest(value))
        sums = [one.sum() for one in parts(value) if one.requires_grad and one.is_floating_point()]
        if sums:
            sum(sums).backward()
    return f"passed {zlib.crc32(repr(digests).encode()):08x}"


def main():
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    torch.set_num_threads(2)
    with open(sys.argv[1], "w", encoding="utf-8") as result:
        for op in op_db[::every]:
            try:
                said = try_operator(op)
            except Exception as error:  # an operator that fails must fail the same way when it is traced
                said = f"failed {type(error).__name__}"
            name = f"{op.name}{'.' + op.variant_test_name if op.variant_test_name else ''}"
            result.write(json.dumps([name, said]) + "\n")


main()
