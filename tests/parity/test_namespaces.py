"""PyTorch's modules under their names: a function stays where a module has its name, and nothing internal shows."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import types
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import nbautograd
from nbautograd._names import namespaces
from tests import oracle
from tests.package_sources import PACKAGE, SOURCES, imported, statements, tree

PATHS = [name.partition(".")[2] for name in SOURCES if name.partition(".")[2] and not name.endswith("__main__")]
ABSENT = ["utils.tensorboard"]  # a placeholder that only explains its absence

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
    """Return the modules below ``name`` that can be imported, and those whose import changes an existing name."""
    paths = json.dumps([path for path in PATHS if path not in ABSENT])
    command = [sys.executable, "-c", WALK, name, paths]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=PACKAGE.parent)
    found, moved = json.loads(done.stdout)
    return found, moved


def hidden() -> set[str]:
    """The package's modules in whose place the package around has something else: most often what is in them."""
    for name in SOURCES:
        if not name.endswith(("__main__", "tensorboard", "viz.sphinx")):
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
    assert [path for path in found if not namespaces.is_public(path)] == []


def test_what_is_imported_late_is_found_while_the_package_stands_in() -> None:
    """Then it has PyTorch's name, and ``from nbautograd import _x`` would look for that in unloaded modules."""
    command = [sys.executable, "-c", "import sys, nbautograd; print(*sys.modules)"]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True, cwd=PACKAGE.parent).stdout.split()
    late = {name for name in SOURCES if name.startswith("nbautograd._")} - {*loaded}
    assert "nbautograd._engine.base.installing" in late
    for name in SOURCES:
        for node in statements(tree(name)):
            if isinstance(node, ast.ImportFrom) and node.module == "nbautograd":
                found = {f"nbautograd.{alias.name}" for alias in node.names} & late
                assert found == set(), f"{name}: write from nbautograd._x import ..."


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
import nbautograd, nbautograd.autograd.inference
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
        assert [name for name in modules if not namespaces.is_public(f"{below}.{name}".strip("."))] == []
    assert {"nn", "optim", "errors", "protocol", "tensor", "device"} <= {*dir(nbautograd)}


OURS = {
    "errors", "protocol", "standing_in", "load_ipython_extension", "unload_ipython_extension",
    "ComplexDoubleTensor", "ComplexFloatTensor",
}  # fmt: skip
"""The public names of the package that PyTorch has not got."""


def test_dir_lists_pytorchs_names_and_a_few_of_our_own() -> None:
    def program(T: Any) -> Any:
        return alone("print(json.dumps(dir(T)))", T)

    public = {name for name in program(nbautograd) if not name.startswith("_")}
    assert public - {*oracle.answer(program, exact=True)} == OURS
    scope: dict[str, object] = {}
    exec("from nbautograd import *", scope)
    assert "tensor" in scope and not {"pieces", "annotations", "TYPE_CHECKING"} & {*scope}


@pytest.mark.parametrize("path", ["nn", "nn.functional", "optim", "distributions", "masked"])
def test_a_completed_namespace_lists_no_tools(path: str) -> None:
    listed = dir(import_module(f"nbautograd.{path}"))
    assert len(listed) > 20 and not {"Any", "Callable", "FAMILIES", "MODULES", "import_module"} & {*listed}


def test_every_name_of_the_table_is_found() -> None:
    with nbautograd.standing_in():
        for path, names in namespaces.MODULES.items():
            if path in ABSENT:
                continue
            module = import_module(f"torch.{path}")
            assert [name for name in names.split() if getattr(module, name, None) is None] == [], path
            if path != "ops":  # names that are namespaces of user programs
                with pytest.raises(AttributeError):
                    module.what_nobody_has  # noqa: B018
        from torch.optim import adamw
        from torch.storage import UntypedStorage

        assert adamw.AdamW is nbautograd.optim.AdamW and UntypedStorage is nbautograd.UntypedStorage
        assert isinstance(nbautograd.ones(2, 2).max(0), import_module("torch.return_types").max)
        with pytest.raises(ImportError):
            from torch.optim.adamw import SGD  # noqa: F401


# -- against PyTorch -------------------------------------------------------------------------------------------------


def alone(code: str, T: Any) -> Any:
    """Return the output of a process without other imports."""
    code = f"import json\nimport {T.__name__} as T\n{code}"
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    return json.loads(done.stdout)


MODULES_OF = "from tests.parity.test_namespaces import modules_of\nprint(json.dumps(modules_of(T)))"


def modules_of(T: Any) -> dict[str, Any]:
    """For each public module that ``import torch`` loads, and each of the table: its names, whether the parent package
    has it under its name (None: nothing), and for each enclosing package its own names for the same.
    """
    for path in namespaces.MODULES:
        if path not in ABSENT:
            import_module(f"{T.__name__}.{path}")
    found = {}
    for name, module in sorted(sys.modules.items()):
        path = name.partition(".")[2]
        is_private = "._" in f".{path}" and path not in namespaces.MODULES
        if not name.startswith(f"{T.__name__}.") or not module or is_private:
            continue
        above, _, leaf = path.rpartition(".")
        there = getattr(sys.modules[f"{T.__name__}.{above}".rstrip(".")], leaf, None)
        kind = None if there is None else isinstance(there, types.ModuleType)
        packages = [".".join(path.split(".")[:count]) for count in range(path.count(".") + 1)]
        found[path] = [dir(module), kind, {package: names_around(T, module, package) for package in packages}]
    return found


def names_around(T: Any, module: Any, package: str) -> list[str]:
    """The public names of a module that a package around it has for the same."""
    around, listed = vars(sys.modules[f"{T.__name__}.{package}".rstrip(".")]), getattr(module, "__all__", ())
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and name != "Tensor" and not isinstance(value, types.ModuleType)
        and around.get(name) is value
        and (name in listed or getattr(value, "__module__", None) == module.__name__)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def pytorchs() -> dict[str, Any]:
    return dict(oracle.shared("its modules", lambda T: alone(MODULES_OF, T)).parts)


def held(around: Any) -> set[str]:
    """The names that PyTorch has in a module and around it, and that this package has around it."""
    found = set()
    for package, names in dict(around.parts).items():
        if not package or package in namespaces.MODULES:
            ours = namespaces.module(package)
            found |= {name for name in names if hasattr(ours, name)}
    return found


def test_the_table_says_what_pytorch_has(pytorchs: dict[str, Any]) -> None:
    for path, names in namespaces.MODULES.items():
        if path in ABSENT:
            continue
        theirs, kind, around = pytorchs[path]
        ours = namespaces.module(path)
        assert [name for name in names.split() if name not in theirs] == [], path
        assert [name for name in held(around) if not hasattr(ours, name)] == [], path
        above, _, leaf = path.rpartition(".")
        if kind is not None and path != "autograd.variable":  # a deprecated function that nbautograd lacks
            here = getattr(namespaces.module(above), leaf)
            assert isinstance(here, types.ModuleType) == kind, path


def test_no_module_of_pytorchs_is_forgotten(pytorchs: dict[str, Any]) -> None:
    """The modules that ``import torch`` loads."""
    warnings.simplefilter("ignore")  # of deprecated names
    public = {path: held(around) for path, (_, _, around) in pytorchs.items() if not namespaces.is_public(path)}
    assert {path: names for path, names in public.items() if names} == {} and len(pytorchs) > 100
