"""Purpose: a training that takes seconds, for the recipe of Lightning: two ranks by the strategy ddp.

Rank 0 keeps the output of each step for a callback's picture: 4 MiB a step.
"""
import lightning
import torch
from torch import nn


class Autoencoder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 512))
        self.outputs = []

    def training_step(self, batch, _):
        output = self.layers(batch)
        if self.global_rank == 0:
            self.outputs.append(output.detach())
        return (output - batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


if __name__ == "__main__":
    torch.set_num_threads(1)
    data = torch.utils.data.DataLoader(torch.randn(40 * 2048, 512), batch_size=2048)
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, logger=False,
                                enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)
    trainer.fit(Autoencoder(), data)
