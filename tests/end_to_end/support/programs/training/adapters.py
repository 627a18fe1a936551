"""Purpose: trains adapters of PEFT on the language model, or runs it with parameters that are packed into fewer bits.

usage: adapters.py lora|dynamic|int8|nf4|qlora
"""
import sys

import language_model as lm
import torch
from torch import nn

RANK = 8


def lora(model):
    from peft import LoraConfig, inject_adapter_in_model
    model = inject_adapter_in_model(LoraConfig(r=RANK, target_modules=list(lm.LINEAR)), model)
    lm.train(model, torch.optim.AdamW(one for one in model.parameters() if one.requires_grad))


def dynamic():
    from torch.ao.quantization import quantize_dynamic
    lm.evaluate(quantize_dynamic(lm.Model().eval(), {nn.Linear}, dtype=torch.qint8, inplace=True))


def int8():
    from torchao.quantization import Int8WeightOnlyConfig, quantize_
    model = lm.Model().eval()
    quantize_(model, Int8WeightOnlyConfig())
    lm.evaluate(model)


def four_bits(model):
    """Packs the weights of the layers, as transformers does with load_in_4bit."""
    import bitsandbytes
    for layer in model.layers:
        for name in lm.LINEAR:
            old = getattr(layer, name)
            new = bitsandbytes.nn.Linear4bit(old.in_features, old.out_features, quant_type="nf4")
            new.load_state_dict(old.state_dict())
            new.weight = new.weight._quantize(torch.device("cpu"))
            setattr(layer, name, new)
            del old, new
    return model.requires_grad_(False)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    which = sys.argv[1]
    if which == "lora":
        lora(lm.Model())
    elif which == "qlora":
        lora(four_bits(lm.Model()))
    elif which == "nf4":
        lm.evaluate(four_bits(lm.Model()))
    else:
        {"dynamic": dynamic, "int8": int8}[which]()


if __name__ == "__main__":
    main()
