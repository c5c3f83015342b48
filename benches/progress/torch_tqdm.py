"""PyTorch with tqdm: three epochs of 400 steps whose sequences get longer (64 to 256)."""

import torch, time
from tqdm import tqdm

g = "cuda"
n = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True), 6).to(g)
o = torch.optim.AdamW(n.parameters())
for e in range(3):
    for i in tqdm(range(400), desc=f"epoch {e}"):
        l = 64 + min(i, 192)  # curriculum: sequences that get longer
        x = torch.randn(32, l, 512, device=g)
        y = n(x).square().mean()
        o.zero_grad()
        y.backward()
        o.step()
        y.item()
