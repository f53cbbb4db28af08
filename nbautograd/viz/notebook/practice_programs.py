"""Programs with a line that may raise an error, by level; {k} and {m} represent small numbers.

Which line fails, and whether one does, is found by running them.
"""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_FIRST = """
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
---
w = torch.tensor({k}., requires_grad=True)
y = w ** {m}
y.backward()
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
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
w = torch.tensor({k}., requires_grad=True)
w += {m}
y = w * w
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
with torch.no_grad():
    w += {m}
y = w * w
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
a = w + {m}
a += 1
y = a * {k}
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
a = w.detach()
y = a * {m}
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
a = w.detach()
y = a * w * {m}
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
y = w ** {m}
y.backward(retain_graph=True)
y.backward()
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
y = w ** {m}
y.backward(retain_graph=True)
y.backward()
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
a = w * 2
a.numpy()
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
a = w * 2
a.detach().numpy()
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
y = w * w
y.backward(torch.ones(3))
"""
_THIRD = """
w = torch.tensor({k}., requires_grad=True)
x = torch.tensor({m}., requires_grad=True)
a = w * 2
y = a * x
a += 1
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
x = torch.tensor({m}., requires_grad=True)
a = w * 2
y = a + x
a += 1
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
a = w.exp()
a *= {m}
y = a + 1
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
a = w + {m}
a *= {m}
y = a + 1
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
a = w * w
y = a + {m}
y.backward()
y = a - {m}
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
a = w + {m}
y = a + 1
y.backward()
y = a - 1
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
with torch.no_grad():
    y = w * {m}
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
y = w * {m}
with torch.no_grad():
    y.backward()
    w -= w.grad
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
y = w.sum()
y.item().backward()
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
a = w.detach()
a += 1
y = (w * w).sum()
y.backward()
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
y = (w * w).sum()
a = w.detach()
a += 1
y.backward()
"""
_FOURTH = """
w = torch.tensor([{k}., {m}.], requires_grad=True)
a = w[0]
a += 1
y = (w * w).sum()
y.backward()
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
a = w * 2
a[0] = {k}
y = (a * a).sum()
y.backward()
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
a = w * 2
y = (a * a).sum()
a[0] = {k}
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
y = w * w
with torch.no_grad():
    w -= w.grad
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
y = w * w
y.backward()
w = w - w.grad
y = w * {m}
y.backward()
w.grad.zero_()
---
w = torch.tensor({k}., requires_grad=True)
y = w * w
y.backward()
with torch.no_grad():
    w -= w.grad
y = w * {m}
y.backward()
w.grad.zero_()
---
w = torch.tensor({k}., requires_grad=True)
a = w * {m}
optimizer = torch.optim.SGD([a], lr=0.5)
a.backward()
optimizer.step()
---
w = torch.tensor({k}., requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.5)
y = w * {m}
optimizer.step()
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.5)
y = w * w
y.backward(retain_graph=True)
optimizer.step()
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
x = torch.tensor({m}., requires_grad=True)
y = w * w
torch.autograd.grad(y, [w, x])
---
w = torch.tensor({k}., requires_grad=True)
x = torch.tensor({m}., requires_grad=True)
y = w * w
torch.autograd.grad(y, [w, x], allow_unused=True)
---
w = torch.tensor([{k}., {m}.], requires_grad=True)
x = torch.tensor([1., 2., 3.])
y = (w * x).sum()
y.backward()
---
w = torch.tensor([[{k}.], [{m}.]], requires_grad=True)
x = torch.tensor([1., 2., 3.])
y = (w * x).sum()
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
y = w ** {m}
torch.autograd.grad(y, w, create_graph=True)
y.backward()
---
w = torch.tensor({k}., requires_grad=True)
y = w ** {m}
torch.autograd.grad(y, w)
y.backward()
"""
PROGRAMS: tuple[tuple[str, ...], ...] = tuple(
    tuple(program.strip("\n") for program in level.split("---")) for level in (_FIRST, _SECOND, _THIRD, _FOURTH)
)
