"""Lightning: three epochs of 157 steps with validation."""

import torch, lightning as L


class M(L.LightningModule):
    def __init__(s):
        super().__init__()
        s.n = torch.nn.Sequential(
            torch.nn.Conv2d(3, 128, 3, padding=1),
            torch.nn.ReLU(),
            *[torch.nn.Sequential(torch.nn.Conv2d(128, 128, 3, padding=1), torch.nn.ReLU()) for _ in range(8)],
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(128, 10)
        )

    def training_step(s, b, i):
        l = torch.nn.functional.cross_entropy(s.n(b[0]), b[1])
        s.log("l", l, prog_bar=True)
        return l

    def validation_step(s, b, i):
        s.log("v", torch.nn.functional.cross_entropy(s.n(b[0]), b[1]))

    def configure_optimizers(s):
        return torch.optim.Adam(s.parameters(), 1e-3)


def D(n):
    return torch.utils.data.TensorDataset(torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,)))


t = lambda d, s: torch.utils.data.DataLoader(d, 256, shuffle=s)
L.Trainer(max_epochs=3, logger=False, default_root_dir="/tmp/pl").fit(M(), t(D(40000), True), t(D(8000), False))
