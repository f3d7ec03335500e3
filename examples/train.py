import torch

import wkvc

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.randn(4, 64, 128, device=device)  # batch, tokens, channels
project = torch.nn.Linear(128, 6 * 128, device=device)
optimizer = torch.optim.AdamW(project.parameters(), lr=1e-2)
for step in range(20):
    r, w, k, v, kk, a = project(x).unflatten(-1, (6, 2, 64)).unbind(-3)  # batch, tokens, heads, 64
    kk = torch.nn.functional.normalize(kk, dim=-1)
    o, _ = wkvc.rwkv7(r, w, k, v, -kk, kk * a.sigmoid())
    loss = (o.flatten(2) - x.cumsum(1)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step}: {loss:.3f}")
