"""PyTorch's modules under their names: a function stays where a module has its name, and nothing internal shows."""

from __future__ import annotations

import json
import subprocess
import sys
import types
import warnings
from importlib import import_module

import pytest

import nbautograd
from nbautograd import _namespaces
from tests import needs
from tests.package_sources import PACKAGE, SOURCES, imported, statements, tree

PATHS = [name.partition(".")[2] for name in SOURCES if name.partition(".")[2] and not name.endswith("__main__")]
ABSENT = ["utils.tensorboard"]  # which is only there to say why it is not

WALK = """
import json, sys, types, warnings
from importlib import import_module
import nbautograd

name, paths = sys.argv[1], json.loads(sys.argv[2])
if name == "torch":
    nbautograd.standing_in().start()
found, moved = [], []
for path in paths:
    above, _, leaf = path.rpartition(".")
    try:
        import_module(f"{name}.{above}".rstrip("."))
    except ImportError:
        continue
    package = import_module(f"nbautograd.{above}".rstrip("."))
    before = getattr(package, leaf, None)
    try:
        module = import_module(f"{name}.{path}")
    except ModuleNotFoundError:
        continue
    found.append(path)
    after = getattr(package, leaf, None)
    if after is not before if before is not None else after is not module:
        moved.append(path)
print(json.dumps([found, moved]))
"""


def walked(name: str) -> tuple[list[str], list[str]]:
    """Of the package's modules those that can be imported below ``name``, and those of which that changes what was."""
    paths = json.dumps([path for path in PATHS if path not in ABSENT])
    command = [sys.executable, "-c", WALK, name, paths]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=PACKAGE.parent)
    found, moved = json.loads(done.stdout)
    return found, moved


def hidden() -> set[str]:
    """The package's modules in whose place the package around has something else: most often what is in them."""
    for name in SOURCES:
        if not name.endswith(("__main__", "tensorboard")):
            import_module(name)
    return {
        name
        for name in SOURCES
        if name in sys.modules and "." in name and not isinstance(_attribute(name), types.ModuleType)
    }


def _attribute(name: str) -> object:
    above, _, leaf = name.rpartition(".")
    return vars(sys.modules[above]).get(leaf)


def test_importing_a_module_leaves_a_function_of_its_name() -> None:
    assert {"nbautograd.autograd.gradcheck", "nbautograd.nn.functional.linear"} <= hidden()
    found, moved = walked("nbautograd")
    assert len(found) > 200 and moved == []


def test_importing_it_by_pytorchs_name_does_so_too_and_finds_nothing_internal() -> None:
    found, moved = walked("torch")
    assert {"autograd.gradcheck", "nn.functional", "optim.adam"} <= {*found} and moved == []
    assert [path for path in found if not _namespaces.is_public(path)] == []


def test_nothing_is_imported_that_depends_on_what_was_imported_before() -> None:
    concealed = hidden()
    wrong = [
        f"{name}: {target}"
        for name in SOURCES
        for node in statements(tree(name), types=False)
        for target in imported(node, name)
        if target in concealed and node.__class__.__name__ == "ImportFrom" and node.module != target  # type: ignore[attr-defined]
    ]
    assert [each for each in wrong if each.partition(": ")[0] != each.partition(": ")[2].rpartition(".")[0]] == []


@pytest.mark.parametrize("first", ["autograd.inference", "autograd", "tensor"])
def test_a_reload_changes_nothing(first: str) -> None:
    code = f"""
import importlib, sys
import nbautograd
importlib.reload(sys.modules["nbautograd.{first}"]) if "{first}" != "tensor" else importlib.reload(nbautograd)
from nbautograd import device, tensor
with nbautograd.autograd.inference_mode():
    x = nbautograd.ones(2)
print(tensor([1]).tolist(), device("cpu"), x.is_inference(), nbautograd.autograd.gradcheck.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.stdout.split() == ["[1]", "cpu", "True", "gradcheck"]


def test_dir_lists_no_internal_module() -> None:
    for package in (nbautograd, nbautograd.autograd, nbautograd.utils):
        below = package.__name__.partition(".")[2]
        modules = [name for name in dir(package) if isinstance(getattr(package, name), types.ModuleType)]
        assert [name for name in modules if not _namespaces.is_public(f"{below}.{name}".strip("."))] == []
    assert {"nn", "optim", "errors", "protocol", "tensor", "device"} <= {*dir(nbautograd)}


OURS = {
    "errors", "protocol", "standing_in", "load_ipython_extension", "unload_ipython_extension",
    "ComplexDoubleTensor", "ComplexFloatTensor",
}  # fmt: skip
"""The public names of the package that PyTorch has not got."""


def test_dir_lists_pytorchs_names_and_a_few_of_our_own() -> None:
    torch = needs.package("torch")
    public = {name for name in dir(nbautograd) if not name.startswith("_")}
    assert public - {*dir(torch)} - {"contrib", "library", "viz"} == OURS  # these three once imported
    scope: dict[str, object] = {}
    exec("from nbautograd import *", scope)
    assert "tensor" in scope and not {"pieces", "annotations", "TYPE_CHECKING"} & {*scope}


def test_every_name_of_the_table_is_found() -> None:
    with nbautograd.standing_in():
        for path, names in _namespaces.MODULES.items():
            if path in ABSENT:
                continue
            module = import_module(f"torch.{path}")
            assert [name for name in names.split() if getattr(module, name, None) is None] == [], path
            if path != "ops":  # whose names are namespaces of a program's own
                with pytest.raises(AttributeError):
                    module.what_nobody_has  # noqa: B018
        from torch.optim import adamw
        from torch.storage import UntypedStorage

        assert adamw.AdamW is nbautograd.optim.AdamW and UntypedStorage is nbautograd.UntypedStorage
        assert isinstance(nbautograd.ones(2, 2).max(0), import_module("torch.return_types").max)
        with pytest.raises(ImportError):
            from torch.optim.adamw import SGD  # noqa: F401


# -- against PyTorch -------------------------------------------------------------------------------------------------


def held(path: str) -> set[str]:
    """The public names of a module of PyTorch that a package around it has, too: there the same, and here at all."""
    found, module, above = set(), sys.modules[f"torch.{path}"], path
    while above:
        above = above.rpartition(".")[0]
        theirs = sys.modules[f"torch.{above}".rstrip(".")]
        ours = _namespaces.module(above) if not above or above in _namespaces.MODULES else None
        for name, value in vars(module).items():
            if name.startswith("_") or name == "Tensor" or not hasattr(ours, name):
                continue
            if vars(theirs).get(name) is value and not isinstance(value, types.ModuleType):
                listed = name in getattr(module, "__all__", ())
                found |= {name} if listed or getattr(value, "__module__", None) == module.__name__ else set()
    return found


def test_the_table_says_what_pytorch_has() -> None:
    needs.package("torch")
    for path, names in _namespaces.MODULES.items():
        if path in ABSENT:
            continue
        theirs, ours = import_module(f"torch.{path}"), _namespaces.module(path)
        assert [name for name in names.split() if not hasattr(theirs, name)] == [], path
        assert [name for name in held(path) if not hasattr(ours, name)] == [], path
        above, _, leaf = path.rpartition(".")
        there = getattr(import_module(f"torch.{above}".rstrip(".")), leaf, None)
        if there is not None and path != "autograd.variable":  # a deprecated function, which nbautograd has not
            here = getattr(_namespaces.module(above), leaf)
            assert isinstance(here, types.ModuleType) == isinstance(there, types.ModuleType), path


def test_no_module_of_pytorchs_is_forgotten() -> None:
    """Of those that ``import torch`` loads."""
    needs.package("torch")
    paths = [
        name.partition(".")[2] for name, module in list(sys.modules.items()) if name.startswith("torch.") and module
    ]
    public = [path for path in paths if not path.startswith("_") and "._" not in path]
    warnings.simplefilter("ignore")  # of deprecated names
    assert {path: held(path) for path in public if not _namespaces.is_public(path) and held(path)} == {}
