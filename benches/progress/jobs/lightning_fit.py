"""Lightning: four epochs with a validation after each, its bar of tqdm and a checkpoint."""

import lightning
import torch
from lightning.pytorch.callbacks import TQDMProgressBar
from rows import load
from torch.utils.data import DataLoader, TensorDataset


class Network(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(20, 256),
            torch.nn.ReLU(),
            torch.nn.Linear(256, 256),
            torch.nn.ReLU(),
            torch.nn.Linear(256, 2),
        )

    def loss(self, batch):
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def training_step(self, batch, _):
        loss = self.loss(batch)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("held", self.loss(batch), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


x, y, x_held, y_held = (torch.from_numpy(part) for part in load(rows=1200, share_held=0.2))
train, held = DataLoader(TensorDataset(x, y), 64, shuffle=True), DataLoader(TensorDataset(x_held, y_held), 64)
options = {"logger": False, "accelerator": "cpu", "default_root_dir": "/tmp/study-lightning"}
lightning.Trainer(max_epochs=4, callbacks=[TQDMProgressBar()], **options).fit(Network(), train, held)
