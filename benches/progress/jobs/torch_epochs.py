"""PyTorch: 25 epochs, a plain line after each, and the model saved at the end."""

import torch
from rows import load

x, y, x_held, y_held = (torch.from_numpy(part) for part in load(rows=4000))
model = torch.nn.Sequential(
    torch.nn.Linear(20, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2)
)
optimizer = torch.optim.Adam(model.parameters())
cross_entropy = torch.nn.functional.cross_entropy
for epoch in range(25):
    for batch in torch.randperm(len(x)).split(1024):
        optimizer.zero_grad()
        loss = cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        right = (model(x_held).argmax(1) == y_held).float().mean()
    print(f"Epoch {epoch + 1}/25 loss {loss:.4f} accuracy {right:.4f}")
torch.save(model, "/tmp/study-model.pt")
