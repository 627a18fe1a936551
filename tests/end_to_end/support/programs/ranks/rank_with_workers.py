"""One rank of a job, with loader workers that inherit its RANK. Arguments: workers, steps."""
import sys

import torch


class Items(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.full((64 * 1024,), float(index))  # 256 KiB


def main():
    workers, steps = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(Items(), batch_size=8, num_workers=workers, persistent_workers=True)
    model = torch.nn.Linear(64 * 1024, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for step, batch in enumerate(loader):
        if step == steps:
            break
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    print("done")


if __name__ == "__main__":
    main()
