"""Write the type stubs of declared names, which no type checker and no editor can see otherwise.

python docs/stubs.py           # write them
python docs/stubs.py --check   # fail if a stored one is out of date

Operations attach their methods to Tensor when declared, and lazy families use `__getattr__`. The stubs list them
statically: `_engine/core/_tensor_methods.pyi` is a class with the attached methods, from which Tensor is derived for
type checkers; `__init__.pyi` is the package with its functions, and likewise for namespaces; `return_types.pyi` are the
named tuples. Signatures come from the functions, and from `docs/overloads.pyi` for overloads.
"""

from __future__ import annotations

import argparse
import ast
import functools
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import nbautograd
from nbautograd import Tensor
from nbautograd._engine.compiler.schema import COMPOSITES, NUMPY_NAMES, OPS
from nbautograd._engine.core.return_types import FIELDS
from nbautograd._names import lazy

PACKAGE = Path(nbautograd.__file__).parent
OVERLOADS = Path(__file__).with_name("overloads.pyi")
METHODS = "_engine/core/_tensor_methods.pyi"
NAMESPACES = ("fft", "linalg", "special")
"""Modules of nothing but names for functions that declarations make."""
Parameter, Signature = inspect.Parameter, inspect.Signature
ONLY_BY_NAME = Parameter.KEYWORD_ONLY

HEAD = (
    "# Written by docs/stubs.py from the declarations; do not edit. Signatures that differ are in docs/overloads.pyi.\n"
)
BUILTIN = {"bool": "_bool", "complex": "_complex", "float": "_float", "int": "_int"}
"""Types whose names are dtypes in the package, and methods of Tensor."""
IMPORTED = {
    "Any": "typing",
    "BinaryIO": "typing",
    "Callable": "collections.abc",
    "Literal": "typing",
    "Mapping": "collections.abc",
    "PathLike": "os",
    "Sequence": "collections.abc",
    "Tensor": "nbautograd._engine.core.tensor",
}
PLAIN = {"None", "dict", "list", "object", "str", "tuple", "type", *BUILTIN}
ALIASES = {
    "Number": "int | float | complex | bool",
    "Dims": "int | tuple[int, ...] | list[int] | None",
    "Device": "device | str | int | None",
    "Operand": "Tensor | Number | np.ndarray[Any, Any] | np.generic",
}
"""The abbreviations in signatures; the names are defined beside the methods."""
UNARY = "__neg__ __pos__ __abs__ __invert__"
BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
ORDER = "__lt__ __le__ __gt__ __ge__"
SPECIAL = {
    **dict.fromkeys(UNARY.split(), "(self) -> Tensor"),
    **{f"__{r}{name}__": "(self, other: Operand) -> Tensor" for name in BINARY.split() for r in ("", "r", "i")},
    **dict.fromkeys(ORDER.split(), "(self, other: Operand) -> Tensor"),
    "__eq__": "(self, other: object) -> Tensor",
    "__ne__": "(self, other: object) -> Tensor",
    "__getitem__": "(self, key: Any) -> Tensor",
    "__setitem__": "(self, key: Any, value: Any) -> None",
    "__delitem__": "(self, key: Any) -> None",
}
"""Operators: the type of the other operand is not restricted to tensors."""


class Source(str):
    """A default value as it is written."""

    __repr__ = str.__str__


# -- signatures --------------------------------------------------------------------------------------------------------


@functools.cache
def overloads(of: type[Any] | None = None) -> dict[str, list[Signature]]:
    """The signatures of `docs/overloads.pyi` by name: of functions, or of Tensor's methods."""
    body = ast.parse(OVERLOADS.read_text(encoding="utf-8")).body
    if of is not None:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == of.__name__).body
    found: dict[str, list[Signature]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(written(node))
    return found


def written(node: ast.FunctionDef) -> Signature:
    """The signature of a definition, its annotations and defaults as text."""
    given = node.args
    both = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(both) - len(given.defaults)) + [*given.defaults]
    kinds = [Parameter.POSITIONAL_ONLY] * len(given.posonlyargs) + [Parameter.POSITIONAL_OR_KEYWORD] * len(given.args)
    rows: list[tuple[ast.arg, Any, ast.expr | None]] = list(zip(both, kinds, defaults, strict=True))
    rows += [(given.vararg, Parameter.VAR_POSITIONAL, None)] if given.vararg else []
    rows += [(arg, ONLY_BY_NAME, value) for arg, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    rows += [(given.kwarg, Parameter.VAR_KEYWORD, None)] if given.kwarg else []
    parameters = [
        Parameter(
            arg.arg,
            kind,
            annotation=ast.unparse(arg.annotation) if arg.annotation else Parameter.empty,
            default=Source(ast.unparse(value)) if value else Parameter.empty,
        )
        for arg, kind, value in rows
    ]
    return Signature(parameters, return_annotation=ast.unparse(node.returns) if node.returns else "Any")


def signatures(name: str, function: Any, method: bool) -> list[Signature]:
    """Return the calls that a function accepts, as types."""
    chosen = (overloads(Tensor).get(name) if method else None) or overloads().get(name)
    if chosen is None:
        own = inspect.signature(function)
        kinds = [p.kind for p in own.parameters.values()][-2:]
        base = name.removesuffix("_copy").removesuffix("_")
        if kinds == [Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD] and base != name:
            chosen = of_base(name, base)
        else:
            result = own.return_annotation
            if name in FIELDS:
                result = f"return_types.{name}"
            elif result is Signature.empty:
                raise TypeError(f"{name} says nothing of its result: annotate it, or write it into {OVERLOADS.name}")
            parameters = [spelled(p, function) for p in own.parameters.values()]
            chosen = [Signature(parameters, return_annotation=expanded(result, function))]
    chosen = [with_rest(signature, function) for signature in chosen]
    chosen = [each for signature in chosen for each in with_numpy_names(signature, numpy_names(name, function))]
    return [as_method(each) if method else with_out(each, name, function) for each in chosen]


def of_base(name: str, base: str) -> list[Signature]:
    """A method in place, or a copy of a view, with the parameters of its base function."""
    method = vars(Tensor)[base]
    found = [as_method(each) for each in signatures(base, method, True)]
    kinds = {each.return_annotation for each in found}
    result = "tuple[Tensor, ...]" if kinds == {"tuple[Tensor, ...]"} and name.endswith("_copy") else "Tensor"
    found = [renamed(each, "input" if name.endswith("_copy") else "self", "Tensor") for each in found]
    return [each.replace(return_annotation=result) for each in found]


def renamed(signature: Signature, name: str, annotation: Any) -> Signature:
    first, *others = signature.parameters.values()
    kind = Parameter.POSITIONAL_OR_KEYWORD
    if any(p.kind == Parameter.POSITIONAL_ONLY for p in others):
        kind = Parameter.POSITIONAL_ONLY
    return signature.replace(parameters=[first.replace(name=name, kind=kind, annotation=annotation), *others])


def as_method(signature: Signature) -> Signature:
    """Without `out=`: PyTorch's methods have none, and completions are shorter."""
    found = renamed(signature, "self", Parameter.empty)
    return found.replace(parameters=[p for p in found.parameters.values() if p.name != "out"])


def with_rest(signature: Signature, function: Any) -> Signature:
    """`**rest` replaced by the options that the function has."""
    parameters = [p for p in signature.parameters.values() if p.kind != Parameter.VAR_KEYWORD or p.name != "rest"]
    known = {p.name for p in parameters}
    if len(known) == len(signature.parameters):
        return signature
    options = [p for p in inspect.signature(function).parameters.values() if p.kind == ONLY_BY_NAME]
    parameters += [spelled(p, function) for p in options if p.name not in known]
    bounds = {p.name: p for p in parameters if p.kind == ONLY_BY_NAME and p.name in ("size", "low", "high")}
    return signature.replace(parameters=[p for p in parameters if p.name not in bounds])


def numpy_names(name: str, function: Any) -> set[str]:
    """Parameters that NumPy's names can replace."""
    if name in OPS and OPS[name].function is function:
        return {*OPS[name].numpy_names}
    if name in ("sum", "mean"):  # functions that read them themselves
        return {*NUMPY_NAMES}
    return {*inspect.getclosurevars(function).nonlocals.get("others", {}).values()} if is_composite(function) else set()


def is_composite(function: Any) -> bool:
    return COMPOSITES.get(function.__name__) is function and hasattr(function, "__wrapped__")


def with_numpy_names(signature: Signature, names: set[str]) -> list[Signature]:
    """With `axis` and `keepdims` beside `dim` and `keepdim`; one for each where one of them must be given."""
    given = signature.parameters
    extra = [
        given[name].replace(name=numpy, kind=ONLY_BY_NAME)
        for name, numpy in NUMPY_NAMES.items()
        if name in names & {*given} and given[name].default is not Parameter.empty
    ]
    both = [*given.values(), *extra]
    found = [signature.replace(parameters=sorted(both, key=lambda p: p.kind))]
    if "dim" in names & {*given} and given["dim"].default is Parameter.empty:
        before = [*given].index("dim")
        after = [
            p.replace(name="axis" if p.name == "dim" else p.name, kind=max(p.kind, ONLY_BY_NAME)) for p in both[before:]
        ]
        found.append(signature.replace(parameters=[*both[:before], *after]))
    return found


def with_out(signature: Signature, name: str, function: Any) -> Signature:
    """With the `out=` that declaring it has added."""
    declared = OPS.get(name)
    if declared is not None and declared.function is function:
        has_out = declared.has_out
    else:
        has_out = is_composite(function) and bool(inspect.getclosurevars(function).nonlocals.get("out"))
    parameters = [*signature.parameters.values()]
    if not has_out or "out" in signature.parameters:
        return signature
    kind = "Tensor" if signature.return_annotation == "Tensor" else "tuple[Tensor, ...]"
    option = Parameter("out", ONLY_BY_NAME, default=None, annotation=f"{kind} | None")
    rest = [parameters.pop()] if parameters[-1].kind == Parameter.VAR_KEYWORD else []
    return signature.replace(parameters=[*parameters, option, *rest])


# -- types as text -----------------------------------------------------------------------------------------------------


def spelled(parameter: Parameter, function: Any) -> Parameter:
    return parameter.replace(annotation=expanded(parameter.annotation, function))


def expanded(annotation: Any, function: Any) -> str:
    """An annotation with the aliases of its own module replaced by their definitions."""
    if annotation is Parameter.empty:
        return "Any"
    text = annotation if isinstance(annotation, str) else described(annotation)
    scope = inspect.unwrap(function).__globals__
    members = (
        ast.unparse(Aliases(scope).visit(ast.parse(text, mode="eval"))).replace("(", "").replace(")", "").split(" | ")
    )
    for name, meaning in ALIASES.items():
        if {*(found := meaning.removesuffix(" | bool").split(" | "))} <= {*members}:
            rest = [member for member in members if member not in (*found, "bool"[: 4 * (name == "Number")])]
            members = ["Tensor"] * ("Tensor" in rest) + [name] + [member for member in rest if member != "Tensor"]
    return " | ".join(members)


class Aliases(ast.NodeTransformer):
    """Writes out the names that are no classes, and takes classes out of their modules."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self.scope.get(node.id)
        if isinstance(value, (types.UnionType, types.GenericAlias, typing._GenericAlias)):  # type: ignore[attr-defined]
            return ast.parse(described(value), mode="eval").body
        return ast.Name(value.__name__) if isinstance(value, type) and node.id not in PLAIN else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return node if ast.unparse(node).startswith(("np.", "return_types.")) else ast.Name(node.attr)


def described(value: Any) -> str:
    """A type as one writes it."""
    if value is None or value is types.NoneType:
        return "None"
    if value is Ellipsis:
        return "..."
    if isinstance(value, types.UnionType) or typing.get_origin(value) is typing.Union:
        return " | ".join(map(described, typing.get_args(value)))
    if typing.get_origin(value) is not None:
        arguments = typing.get_args(value)
        inside = [f"[{', '.join(map(described, a))}]" if isinstance(a, list) else described(a) for a in arguments]
        return f"{typing.get_origin(value).__name__}[{', '.join(inside)}]"
    return value.__name__ if hasattr(value, "__name__") else str(value)


class Text:
    """Writes signatures, and collects their imports."""

    def __init__(self, here: tuple[str, ...] = ()) -> None:
        self.here, self.used = here, set[str]()

    def type(self, text: str) -> str:
        tree = ast.parse(text, mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                self.used.add(node.id)
                node.id = BUILTIN.get(node.id, node.id)
        return ast.unparse(tree)

    def signature(self, signature: Signature) -> str:
        parts, last = [], None
        for p in signature.parameters.values():
            if last == Parameter.POSITIONAL_ONLY != p.kind:
                parts.append("/")
            if p.kind == ONLY_BY_NAME and last not in (ONLY_BY_NAME, Parameter.VAR_POSITIONAL):
                parts.append("*")
            stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(p.kind, "")
            text = stars + p.name
            if p.annotation is not Parameter.empty:
                text += f": {self.type(p.annotation)}"
            if p.default is not Parameter.empty:
                text += f" = {value_of(p.default)}"
            parts.append(text)
            last = p.kind
        parts += ["/"] * (last == Parameter.POSITIONAL_ONLY)
        return f"({', '.join(parts)}) -> {self.type(signature.return_annotation)}"

    def functions(self, name: str, found: list[Signature], doc: str = "", indent: str = "") -> Iterator[str]:
        texts = [*dict.fromkeys(self.signature(each) for each in found)]
        for number, text in enumerate(texts):
            if len(texts) > 1:
                yield f"{indent}@overload"
            if doc and number == 0:
                yield f"{indent}def {name}{text}:"
                yield f'{indent}    """{doc}"""'
            else:
                yield f"{indent}def {name}{text}: ..."

    def imports(self) -> Iterator[str]:
        """Return the import statements of all used names."""
        needed = self.used - PLAIN - {*ALIASES, *self.here} | ({"np"} & self.used)
        found = [(IMPORTED.get(name) or home(name), name) for name in needed - {"np", "return_types"}]
        yield from (f"from {module} import {name}" for module, name in sorted(found))
        if "np" in needed:
            yield "import numpy as np"
        if "return_types" in needed:
            yield "from nbautograd import return_types"


def value_of(default: Any) -> str:
    if isinstance(default, Source) or default is None or isinstance(default, (bool, int, str)):
        return repr(default)
    return repr(default) if isinstance(default, float) and default - default == 0 else "..."


# -- where things are defined ------------------------------------------------------------------------------------------


@functools.cache
def sources() -> dict[str, str]:
    """The source of each module of the package, by its name."""
    paths = ((path.relative_to(PACKAGE.parent).with_suffix(""), path) for path in sorted(PACKAGE.rglob("*.py")))
    return {".".join(name.parts).removesuffix(".__init__"): path.read_text(encoding="utf-8") for name, path in paths}


parsed = functools.cache(ast.parse)


@functools.cache
def definitions(name: str) -> list[tuple[str, ast.ClassDef]]:
    """Every class of this name, with its module, which is loaded."""
    modules = [m for m, source in sources().items() if f"\nclass {name}" in source and m in sys.modules]
    nodes = ((module, node) for module in modules for node in parsed(sources()[module]).body)
    return [(module, node) for module, node in nodes if isinstance(node, ast.ClassDef) and node.name == name]


def defined(cls: type[Any]) -> tuple[str, ast.ClassDef]:
    """The module of a class, which may say something else of itself for pickle's sake, and its definition."""
    for module, node in definitions(cls.__name__):
        if vars(sys.modules[module]).get(cls.__name__) is cls:
            return module, node
    raise LookupError(f"no module of the package defines {cls!r}")


def home(name: str) -> str:
    """The module of the one class of this name that signatures speak of."""
    found = getattr(nbautograd, name, None)
    if isinstance(found, type):
        return defined(found)[0]
    modules = [module for module, _ in definitions(name)]
    if len(modules) != 1:
        raise LookupError(f"a signature says {name}: which of {modules or 'nothing'} is meant?")
    return modules[0]


def own_names(cls: type[Any]) -> set[str]:
    """Return the names defined in the source of a class and its bases, which type checkers see."""
    names: set[str] = set()
    for each in cls.__mro__[:-1]:
        for node in defined(each)[1].body:
            if isinstance(node, ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


# -- the files ---------------------------------------------------------------------------------------------------------


def first_sentence(function: Any) -> str:
    doc = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
    return doc.replace("\\", "\\\\").replace('"""', "'''")


def methods_stub() -> str:
    """The class with all methods that are attached to Tensor."""
    text, lines = Text(), list[str]()
    attached = {name: value for name, value in sorted(vars(Tensor).items()) if name not in own_names(Tensor)}
    for name, value in attached.items():
        if isinstance(value, property):
            assert value.fget is not None
            result = inspect.signature(value.fget).return_annotation
            result = "Any" if result is Signature.empty else text.type(expanded(result, value.fget))
            lines += ["    @property", f"    def {name}(self) -> {result}:", f'        """{first_sentence(value)}"""']
            if value.fset is not None:
                lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
        elif name in SPECIAL:
            ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            lines.append(f"    def {name}{SPECIAL[name]}: ...{ignored}")
        elif isinstance(value, types.FunctionType) and not name.endswith(("div__", "lshift__", "rshift__")):
            lines += text.functions(name, signatures(name, value, True), first_sentence(value), "    ")
    text.used |= {"Any", "Tensor", "device", "np"}
    aliases = [f"{own} = {builtin}" for builtin, own in BUILTIN.items()]
    aliases += [f"{name}: TypeAlias = {text.type(meaning)}" for name, meaning in ALIASES.items()]
    head = ["from typing import TypeAlias, overload", "", *text.imports(), "", *aliases, ""]
    doc = '    """The methods that declarations of operations attach to Tensor."""'
    return "\n".join([HEAD, *head, "class TensorMethods:", doc, "", *lines]) + "\n"


def package_stub(package: types.ModuleType = nbautograd) -> str:
    """A package: its modules, classes, values and functions."""
    text, values, functions, imports = Text(), list[str](), list[str](), list[str]()
    for name in dir(package) if package is nbautograd else package.__all__:
        value = getattr(package, name)
        if name.startswith("_"):
            continue
        if isinstance(value, types.ModuleType):
            above, _, leaf = value.__name__.rpartition(".")  # some are elsewhere: torch.jit is in compat/
            imports.append(f"from {above} import {leaf} as {name}")
        elif type(value) is type:
            imports.append(f"from {defined(value)[0]} import {name} as {name}")
        elif isinstance(value, types.FunctionType):
            own = name if package is nbautograd else value.__name__
            functions += text.functions(name, signatures(own, value, False))
        elif isinstance(value, types.BuiltinFunctionType):  # a context variable's ``get``
            functions.append(f"def {name}() -> _{type(value()).__name__}: ...")
        else:
            kind = next((c for c in type(value).__mro__ if not c.__name__.startswith("_")), object)
            kind = type(value) if kind in (object, type) else kind  # of FloatTensor its metaclass
            values.append(f"{name}: {text.type(described(kind))}")
    text.used.add("Any")
    imports.append("from nbautograd import return_types as return_types")
    taken = {line.rpartition(" ")[2] for line in imports}
    needed = [line for line in text.imports() if line.rpartition(" ")[2] not in taken]
    shared = ", ".join(sorted([*BUILTIN.values(), *ALIASES]))
    head = ["from typing import overload", "", *needed, *sorted(imports)]
    head.append(f"from nbautograd._engine.core._tensor_methods import {shared}")
    values += ["__version__: str"] * (package is nbautograd)
    return "\n".join([HEAD, *head, "", *values, "", *functions]) + "\n"


def results_stub() -> str:
    """The named tuples."""
    lines = [HEAD, "from typing import NamedTuple", "", "from nbautograd._engine.core.tensor import Tensor", ""]
    for name, fields in sorted(FIELDS.items()):
        lines += [f"class {name}(NamedTuple):", *(f"    {field}: Tensor" for field in fields.split()), ""]
    return "\n".join(lines)


def stubs() -> dict[Path, str]:
    """Every stub by its path."""
    lazy.load()
    return {
        PACKAGE / "__init__.pyi": package_stub(),
        PACKAGE / METHODS: methods_stub(),
        PACKAGE / "return_types.pyi": results_stub(),
        **{PACKAGE / f"{name}.pyi": package_stub(import_module(f"nbautograd.{name}")) for name in NAMESPACES},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a stub is out of date")
    check = parser.parse_args().check
    made = stubs()
    old = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in old:
        if check:
            print(f"{path.relative_to(PACKAGE.parent)} is out of date: run python docs/stubs.py")
        else:
            path.write_text(made[path], encoding="utf-8")
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
