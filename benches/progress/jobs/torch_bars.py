"""PyTorch with tqdm: six epochs, each a bar of its own, with a validation after each that has none."""

import torch
from rows import load
from tqdm import tqdm

x, y, x_held, y_held = (torch.from_numpy(part) for part in load(rows=4000, share_held=0.3))
model = torch.nn.Sequential(
    torch.nn.Linear(20, 256), torch.nn.GELU(), torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 2)
)
optimizer = torch.optim.AdamW(model.parameters())
cross_entropy = torch.nn.functional.cross_entropy
for epoch in range(6):
    for batch in tqdm(torch.randperm(len(x)).split(128), desc=f"epoch {epoch}"):
        optimizer.zero_grad()
        cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()
    with torch.no_grad():
        losses = [cross_entropy(model(x_part), y_part) for x_part, y_part in zip(x_held.split(128), y_held.split(128))]
    print(f"validation loss {sum(losses) / len(losses):.4f}")
torch.save(model, "/tmp/study-model.pt")
