"""Many short steps on the CPU: where a tracer costs most for each second of computing. Run by scripts/overhead.

A small GPT of 3 million parameters and AdamW (foreach), 100 steps; mallocs and Python calls by the million.
"""
import torch
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = GPT2Config(vocab_size=2048, n_positions=64, n_embd=192, n_layer=6, n_head=6,
                        bos_token_id=0, eos_token_id=0, use_cache=False)
    model = GPT2LMHeadModel(config)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=True)
    for _ in range(100):
        tokens = torch.randint(0, config.vocab_size, (4, 32))
        logits = model(input_ids=tokens).logits
        loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(f"loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
