"""Purpose: fine-tunes an audio model on a dataset that computes features on the fly.

Thread: MoonshotAI/Kimi-Audio#117
Question: Memory grows during training, and more so the larger the training data is.
Answer: __getitem__ of the dataset has @lru_cache(maxsize=None), so each item that was ever read stays.
Finding: leak-per-step
Needs: torch
"""
import functools
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, BATCH, FRAMES, MELS = 24, 8, 1000, 128
cached = (lambda function: function) if MENDED else functools.lru_cache(maxsize=None)


class Recordings(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * BATCH

    @cached
    def __getitem__(self, index):
        waveform = torch.sin(torch.arange(FRAMES * 160) * (index + 1) * 1e-3)
        return self.features(waveform)

    def features(self, waveform):
        frames = waveform.view(FRAMES, 160)
        return frames @ torch.ones(160, MELS)  # CAUSE


def main():
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Recordings(), batch_size=BATCH, shuffle=True)
    model = nn.Linear(MELS, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for features in loader:
        loss = model(features).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("truth", BATCH * FRAMES * MELS * 4)


main()
