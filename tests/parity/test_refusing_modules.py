"""``torch.fx``, ``export``, ``nested`` and ``utils.cpp_extension``: they are imported, and say why they do nothing."""

from __future__ import annotations

import pytest

import nbautograd as nb

REFUSED = {
    "from torch.fx import symbolic_trace": "symbolic_trace(None)",
    "from torch.fx import GraphModule": "GraphModule({}, None)",
    "from torch.fx.graph_module import GraphModule": "GraphModule()",
    "from torch.fx.experimental.proxy_tensor import make_fx": "make_fx(abs)",
    "from torch.fx.passes.shape_prop import ShapeProp": "ShapeProp(None)",
    "from torch.export import export": "export(None, ())",
    "import torch.export as e": "e.save(None, 'file')",
    "from torch.nested import nested_tensor": "nested_tensor([])",
    "import torch.nested as n": "n.as_nested_tensor([])",
    "from torch.utils.cpp_extension import load": "load('name', [])",
    "from torch.utils.cpp_extension import BuildExtension, CUDAExtension": "CUDAExtension('name', [])",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_imported_refuses_when_it_is_called(line: str) -> None:
    scope: dict[str, object] = {}
    with nb.standing_in():
        exec(line, scope)
        with pytest.raises(NotImplementedError, match=r"is not part of nbautograd: \w"):
            exec(REFUSED[line], scope)


def test_what_programs_do_while_they_are_imported() -> None:
    with nb.standing_in():
        from torch.fx import Node, Proxy, Tracer, wrap
        from torch.utils.cpp_extension import CUDA_HOME

    class Own(Tracer):
        """Many packages have one."""

    @wrap
    def marked(x: int) -> int:
        return x + 1

    wrap("len")
    assert marked(1) == 2 and not isinstance(marked, (Node, Proxy, Own)) and CUDA_HOME is None
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        wrap(3)


def test_names_that_nobody_has() -> None:
    for path in ("fx", "export", "nested", "utils.cpp_extension"):
        with pytest.raises(AttributeError, match="PyTorch documents no"):
            nb._names.namespaces.module(path).what_nobody_has  # noqa: B018
