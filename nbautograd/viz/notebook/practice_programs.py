"""Programs with a line that may raise an error, by level; {k} and {m} represent small numbers.

A row is a program, with bars between its lines, of which some are named; an empty row begins the next level. Which line
fails, and whether one does, is found by running them.
"""

from __future__ import annotations

__all__ = ["PROGRAMS"]

NAMED = {
    "number": "w = torch.tensor({k}., requires_grad=True)",
    "vector": "w = torch.tensor([{k}., {m}.], requires_grad=True)",
    "column": "w = torch.tensor([[{k}.], [{m}.]], requires_grad=True)",
    "optimizer": "optimizer = torch.optim.SGD([w], lr=0.5)",
    "descend": "with torch.no_grad():\n    w -= w.grad",
}
LEVELS = """
w = torch.tensor({k}, requires_grad=True) | y = w * {m} | y.backward()
w = torch.tensor({k}) | x = torch.tensor({m}., requires_grad=True) | y = w * x | y.backward()
w = torch.tensor({k}.) | y = w * {m} | y.backward()
number | y = w ** {m} | y.backward() | y.backward()
number | y = w ** {m} | y.backward() | y = w ** {m} | y.backward()
w = torch.tensor([{k}., 1.], requires_grad=True) | y = w * {m} | y.backward()
w = torch.tensor([{k}., 1.], requires_grad=True) | y = (w * {m}).sum() | y.backward()

number | w += {m} | y = w * w | y.backward()
number | with torch.no_grad(): |     w += {m} | y = w * w | y.backward()
number | a = w + {m} | a += 1 | y = a * {k} | y.backward()
number | a = w.detach() | y = a * {m} | y.backward()
number | a = w.detach() | y = a * w * {m} | y.backward()
number | y = w ** {m} | y.backward(retain_graph=True) | y.backward() | y.backward()
number | y = w ** {m} | y.backward(retain_graph=True) | y.backward()
vector | a = w * 2 | a.numpy()
vector | a = w * 2 | a.detach().numpy()
vector | y = w * w | y.backward(torch.ones(3))

number | x = torch.tensor({m}., requires_grad=True) | a = w * 2 | y = a * x | a += 1 | y.backward()
number | x = torch.tensor({m}., requires_grad=True) | a = w * 2 | y = a + x | a += 1 | y.backward()
number | a = w.exp() | a *= {m} | y = a + 1 | y.backward()
number | a = w + {m} | a *= {m} | y = a + 1 | y.backward()
number | a = w * w | y = a + {m} | y.backward() | y = a - {m} | y.backward()
number | a = w + {m} | y = a + 1 | y.backward() | y = a - 1 | y.backward()
number | with torch.no_grad(): |     y = w * {m} | y.backward()
number | y = w * {m} | with torch.no_grad(): |     y.backward() |     w -= w.grad
vector | y = w.sum() | y.item().backward()
vector | a = w.detach() | a += 1 | y = (w * w).sum() | y.backward()
vector | y = (w * w).sum() | a = w.detach() | a += 1 | y.backward()

vector | a = w[0] | a += 1 | y = (w * w).sum() | y.backward()
vector | a = w * 2 | a[0] = {k} | y = (a * a).sum() | y.backward()
vector | a = w * 2 | y = (a * a).sum() | a[0] = {k} | y.backward()
number | y = w * w | descend | y.backward()
number | y = w * w | y.backward() | w = w - w.grad | y = w * {m} | y.backward() | w.grad.zero_()
number | y = w * w | y.backward() | descend | y = w * {m} | y.backward() | w.grad.zero_()
number | a = w * {m} | optimizer = torch.optim.SGD([a], lr=0.5) | a.backward() | optimizer.step()
number | optimizer | y = w * {m} | optimizer.step() | y.backward()
number | optimizer | y = w * w | y.backward(retain_graph=True) | optimizer.step() | y.backward()
number | x = torch.tensor({m}., requires_grad=True) | y = w * w | torch.autograd.grad(y, [w, x])
number | x = torch.tensor({m}., requires_grad=True) | y = w * w | torch.autograd.grad(y, [w, x], allow_unused=True)
vector | x = torch.tensor([1., 2., 3.]) | y = (w * x).sum() | y.backward()
column | x = torch.tensor([1., 2., 3.]) | y = (w * x).sum() | y.backward()
number | y = w ** {m} | torch.autograd.grad(y, w, create_graph=True) | y.backward()
number | y = w ** {m} | torch.autograd.grad(y, w) | y.backward()
"""


def _programs(level: str) -> tuple[str, ...]:
    rows = [row.split(" | ") for row in level.strip().split("\n")]
    return tuple("\n".join([NAMED.get(line, line) for line in row]) for row in rows)


PROGRAMS = tuple(map(_programs, LEVELS.split("\n\n")))
