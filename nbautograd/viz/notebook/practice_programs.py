"""Programs with a line that may raise an error, by level; {k} and {m} represent small numbers.

Each begins behind a line of dashes, which may name its leaf ``w``. Which line fails, and whether one does, is found by
running them.
"""

from __future__ import annotations

__all__ = ["PROGRAMS"]

LEAVES = {
    "": "",
    "number": "w = torch.tensor({k}., requires_grad=True)\n",
    "vector": "w = torch.tensor([{k}., {m}.], requires_grad=True)\n",
}
_FIRST = """
---
w = torch.tensor({k}, requires_grad=True)
y = w * {m}
y.backward()
---
w = torch.tensor({k})
x = torch.tensor({m}., requires_grad=True)
y = w * x
y.backward()
---
w = torch.tensor({k}.)
y = w * {m}
y.backward()
--- number
y = w ** {m}
y.backward()
y.backward()
--- number
y = w ** {m}
y.backward()
y = w ** {m}
y.backward()
---
w = torch.tensor([{k}., 1.], requires_grad=True)
y = w * {m}
y.backward()
---
w = torch.tensor([{k}., 1.], requires_grad=True)
y = (w * {m}).sum()
y.backward()
"""
_SECOND = """
--- number
w += {m}
y = w * w
y.backward()
--- number
with torch.no_grad():
    w += {m}
y = w * w
y.backward()
--- number
a = w + {m}
a += 1
y = a * {k}
y.backward()
--- number
a = w.detach()
y = a * {m}
y.backward()
--- number
a = w.detach()
y = a * w * {m}
y.backward()
--- number
y = w ** {m}
y.backward(retain_graph=True)
y.backward()
y.backward()
--- number
y = w ** {m}
y.backward(retain_graph=True)
y.backward()
--- vector
a = w * 2
a.numpy()
--- vector
a = w * 2
a.detach().numpy()
--- vector
y = w * w
y.backward(torch.ones(3))
"""
_THIRD = """
--- number
x = torch.tensor({m}., requires_grad=True)
a = w * 2
y = a * x
a += 1
y.backward()
--- number
x = torch.tensor({m}., requires_grad=True)
a = w * 2
y = a + x
a += 1
y.backward()
--- number
a = w.exp()
a *= {m}
y = a + 1
y.backward()
--- number
a = w + {m}
a *= {m}
y = a + 1
y.backward()
--- number
a = w * w
y = a + {m}
y.backward()
y = a - {m}
y.backward()
--- number
a = w + {m}
y = a + 1
y.backward()
y = a - 1
y.backward()
--- number
with torch.no_grad():
    y = w * {m}
y.backward()
--- number
y = w * {m}
with torch.no_grad():
    y.backward()
    w -= w.grad
--- vector
y = w.sum()
y.item().backward()
--- vector
a = w.detach()
a += 1
y = (w * w).sum()
y.backward()
--- vector
y = (w * w).sum()
a = w.detach()
a += 1
y.backward()
"""
_FOURTH = """
--- vector
a = w[0]
a += 1
y = (w * w).sum()
y.backward()
--- vector
a = w * 2
a[0] = {k}
y = (a * a).sum()
y.backward()
--- vector
a = w * 2
y = (a * a).sum()
a[0] = {k}
y.backward()
--- number
y = w * w
with torch.no_grad():
    w -= w.grad
y.backward()
--- number
y = w * w
y.backward()
w = w - w.grad
y = w * {m}
y.backward()
w.grad.zero_()
--- number
y = w * w
y.backward()
with torch.no_grad():
    w -= w.grad
y = w * {m}
y.backward()
w.grad.zero_()
--- number
a = w * {m}
optimizer = torch.optim.SGD([a], lr=0.5)
a.backward()
optimizer.step()
--- number
optimizer = torch.optim.SGD([w], lr=0.5)
y = w * {m}
optimizer.step()
y.backward()
--- number
optimizer = torch.optim.SGD([w], lr=0.5)
y = w * w
y.backward(retain_graph=True)
optimizer.step()
y.backward()
--- number
x = torch.tensor({m}., requires_grad=True)
y = w * w
torch.autograd.grad(y, [w, x])
--- number
x = torch.tensor({m}., requires_grad=True)
y = w * w
torch.autograd.grad(y, [w, x], allow_unused=True)
--- vector
x = torch.tensor([1., 2., 3.])
y = (w * x).sum()
y.backward()
---
w = torch.tensor([[{k}.], [{m}.]], requires_grad=True)
x = torch.tensor([1., 2., 3.])
y = (w * x).sum()
y.backward()
--- number
y = w ** {m}
torch.autograd.grad(y, w, create_graph=True)
y.backward()
--- number
y = w ** {m}
torch.autograd.grad(y, w)
y.backward()
"""


def _programs(level: str) -> tuple[str, ...]:
    parts = [part.partition("\n") for part in level.split("---")[1:]]
    return tuple(LEAVES[leaf.strip()] + lines.rstrip("\n") for leaf, _, lines in parts)


PROGRAMS: tuple[tuple[str, ...], ...] = tuple(map(_programs, (_FIRST, _SECOND, _THIRD, _FOURTH)))
