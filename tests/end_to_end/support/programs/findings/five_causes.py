"""Five steps of Adam over 17 million parameters. Five causes make the peak of the first step.

The first step keeps two copies of the model, a BytesIO of torch.save with its staging copies, and the graph of a loss
over 16,384 classes.
"""
import copy
import io

import torch

CLASSES = 16384


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Embedding(CLASSES, 512), torch.nn.Linear(512, 512),
                                torch.nn.Linear(512, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=0.01, foreach=True)
    for step in range(5):
        logits = model(torch.randint(0, CLASSES, (512,)))
        loss = torch.nn.functional.cross_entropy(logits, torch.randint(0, CLASSES, (512,)))
        loss.backward(retain_graph=True)
        kept = []
        if step == 0:
            kept.append(copy.deepcopy(model.state_dict()))
            kept.append([parameter.detach().clone() for parameter in model.parameters()])
            kept.append(io.BytesIO())
            torch.save(model.state_dict(), kept[-1])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del logits, loss, kept


if __name__ == "__main__":
    main()
