"""The names of classes and of the package while nbautograd stands in for PyTorch.

Packages recognize a tensor by ``type(x).__module__``, and features by ``torch.__version__``. So while ``standing_in``
is on, both are PyTorch's. Classes stay the same objects, and pickles use our names.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from nbautograd._names import lazy, namespaces

PACKAGE = __name__.partition(".")[0]
VERSION = "2.13.0"
"""The version of PyTorch that nbautograd follows."""
LOADED = ("autograd.function", "autograd.graph", "nn", "optim.lr_scheduler", "optim.swa_utils", "storage", "utils.data")
"""Modules whose classes are renamed at once, loaded for it; classes of others are renamed on import."""
ELSEWHERE = {
    "Adafactor": "torch.optim", "Generator": "torch._C", "GradientEdge": "torch.autograd.graph", "Muon": "torch.optim",
    "OutOfMemoryError": "torch", "RemovableHandle": "torch.utils.hooks", "SavedTensor": "torch._C._autograd",
    "StreamContext": "torch.cuda", "Tensor": "torch", "inference_mode": "torch.autograd.grad_mode",
    "saved_tensors_hooks": "torch.autograd.graph", "set_detect_anomaly": "torch.autograd.anomaly_mode",
}  # fmt: skip
"""Classes whose PyTorch module follows neither from the place of the code nor from the table of modules."""

_former: dict[type, str] = {}


class ModuleName(str):
    """PyTorch's module name of one of our classes, as ``__module__``; a pickle gets our name, and loads anywhere."""

    __slots__ = ("ours",)
    ours: str

    @classmethod
    def of(cls, theirs: str, ours: str) -> ModuleName:
        """Return PyTorch's name, which knows ours."""
        name = cls(theirs)
        name.ours = ours
        return name

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (self.ours,)


def is_ours(cls: type) -> bool:
    """Return whether a class with PyTorch's module name is one of ours."""
    return isinstance(cls.__module__, ModuleName)


def adopt() -> None:
    """Give the package's classes the names of PyTorch's modules, and the package its version."""
    for path in LOADED:
        import_module(f"torch.{path}")
    rename()
    for place in sorted({str(cls.__module__) for cls in _former}):  # where inspect looks for their code
        if place.partition(".")[2] in namespaces.MODULES:
            import_module(place)
    scope = vars(sys.modules[PACKAGE])
    version = import_module(f"{PACKAGE}.torch_version").TorchVersion
    scope["__version__"] = version(f"{VERSION}+{PACKAGE}.{scope['__version__']}")
    scope["__name__"] = ModuleName.of("torch", PACKAGE)
    scope["torch"] = sys.modules[PACKAGE]  # ``torch.torch`` is PyTorch, as some packages have it in annotations


def give_back() -> None:
    """Restore the original names."""
    for cls, ours in _former.items():
        cls.__module__ = ours
    _former.clear()
    scope = vars(sys.modules[PACKAGE])
    scope["__version__"] = str(scope["__version__"]).partition(f"+{PACKAGE}.")[2]
    scope["__name__"] = PACKAGE
    del scope["torch"]


def rename() -> None:
    """Rename the classes of loaded modules that have not been renamed yet."""
    listed = {name: path for path, names in namespaces.MODULES.items() for name in names.split()}
    loaded = {path: sys.modules.get(namespaces.file_of(path)) for path in namespaces.MODULES}
    scopes = {path: vars(module) for path, module in loaded.items() if module is not None}
    for path, scope in {"": vars(sys.modules[PACKAGE]), **scopes}.items():  # other modules import the package's own
        for name, cls in list(scope.items()):
            if isinstance(cls, type) and cls.__name__ == name and cls.__module__.partition(".")[0] == PACKAGE:
                place = ELSEWHERE.get(name) or f"torch.{_place(cls, listed.get(name), path)}".rstrip(".")
                _former[cls] = cls.__module__
                cls.__module__ = ModuleName.of(place, cls.__module__)


def _place(cls: type, listed: str | None, seen_in: str) -> str:
    """Return the path of a class's module in PyTorch: from the table, or from the location of its code here."""
    own = cls.__module__.partition(".")[2]
    if listed is not None and getattr(namespaces.module(listed), cls.__name__, None) is cls:
        return listed
    if own in namespaces.MODULES:
        return own
    is_packages = not own or cls.__name__ in lazy.FAMILIES.get(own, "").split()  # loaded or not
    return "" if is_packages else seen_in
