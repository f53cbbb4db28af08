"""Custom operations of ``torch.library``: each is an autograd function, available as ``torch.ops.name.op``."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nbautograd._compat.op_schema import check_value, infer_schema, parse, signature_of
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names.docstrings import import_in_module
from nbautograd.autograd.function import Function

_defined: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """A custom operation, created by ``torch.library.custom_op``; called like a function."""

    def __init__(
        self, name: str, fn: Callable[..., Any] | None, schema: str, signature: inspect.Signature, mutates: Any = ()
    ) -> None:
        namespace, _, leaf = name.partition("::")
        if not namespace or not leaf or "::" in leaf:
            raise ValueError(f"custom_op(): the name must be 'namespace::name', got {name!r}")
        self._name, self._namespace, self._leaf = name, namespace, leaf
        self._schema, self._signature, self._mutates = schema, signature, mutates
        self._kernels: dict[str | None, Callable[..., Any]] = {} if fn is None else {None: fn}
        self._disabled: set[str] = set()
        self._records = False  # whether a kernel consists of recorded operations
        self._init_fn = fn
        self._function = _function_of(self)
        _defined[name] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Check the arguments and run the kernel, recorded as one operation."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            check_value(self._name, self._signature.parameters[name], value)
        if self._records:
            return self._run(bound.args, bound.kwargs)
        if self._mutates:
            with no_grad():
                return self._run(bound.args, bound.kwargs)
        return self._function.apply(*bound.args, *bound.kwargs.values())

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the kernel of the arguments' device."""
        device = next((each.device.type for each in args if isinstance(each, Tensor)), "cpu")
        kernel = None if device in self._disabled else self._kernels.get(device)
        kernel = self._kernels.get(None) if kernel is None else kernel
        if kernel is None:
            raise NotImplementedError(
                f"{self._name}: there is no kernel for {device} tensors; register_kernel adds one"
            )
        return kernel(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register a kernel for types of devices, such as ``"cpu"`` or ``"cuda"``; None for all. Also a decorator."""
        if fn is None:
            return functools.partial(self.register_kernel, device_types)
        types = [device_types] if device_types is None or isinstance(device_types, str) else device_types
        self._kernels.update(dict.fromkeys(types, fn))
        return fn

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Accept a function that computes only shapes; it is for compilers and never called."""
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register the derivative of the operation.

        :param backward: ``backward(ctx, *grads)`` returns the gradient of each input, None for an input without one.
        :param setup_context: ``setup_context(ctx, inputs, output)`` saves the values for ``backward``.
        """
        if self._mutates:
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self!r}: it writes")
        self._function = _function_of(self, backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Register the operation's rule for ``vmap``: ``func(info, in_dims, *args)``. Also a decorator."""
        if func is None:
            return self.register_vmap
        self._function.vmap = staticmethod(func)  # type: ignore[method-assign]
        return func

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Use the default kernel instead of a device type's kernel, in a ``with`` block."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before


def _function_of(
    op: CustomOpDef, backward: Callable[..., Any] | None = None, setup: Callable[..., Any] | None = None
) -> type[Function]:
    """Return the autograd function of an operation."""
    parameters = [*op._signature.parameters.values()]
    positional = sum(each.kind is not inspect.Parameter.KEYWORD_ONLY for each in parameters)
    names = [each.name for each in parameters[positional:]]

    def forward(*args: Any) -> Any:
        result = op._run(args[:positional], dict(zip(names, args[positional:], strict=True)))
        _check_aliases(op, args, result)
        return result

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if setup is not None:
            named = dict(zip(names, inputs[positional:], strict=True))
            setup(ctx, inputs=inputs[:positional], output=output, **({"keyword_only_inputs": named} if names else {}))

    def gradients(ctx: Any, *grads: Any) -> Any:
        if backward is None:
            raise RuntimeError(
                f"Trying to backward through {op._name.replace('::', '.')}.default but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        result = backward(ctx, *grads)
        return (*(result if isinstance(result, tuple) else (result,)), *[None] * len(names))

    scope = {name: staticmethod(f) for name, f in (("forward", forward), ("setup_context", setup_context))}
    scope["backward"] = staticmethod(gradients)
    return type(f"GeneratedBackwardFor_{op._namespace}_{op._leaf}_default", (Function,), scope)


def _check_aliases(op: CustomOpDef, args: tuple[Any, ...], result: Any) -> None:
    """Reject a result that is an input or shares its memory: its gradient would be wrong."""
    inputs = {each.untyped_storage().data_ptr() for each in args if isinstance(each, Tensor) and each.numel()}
    for each in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(each, Tensor) and each.numel() and each.untyped_storage().data_ptr() in inputs:
            raise RuntimeError(
                f"{op._name}: The output of this custom operator (1) must not also be an input to this custom operator "
                "and (2) may not alias any inputs to this custom operator; return a clone of it"
            )


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], device_types: Any = None,
    schema: str | None = None, tags: Any = None,
) -> Any:  # fmt: skip
    """Make a function an operation: its steps are not recorded; ``register_autograd`` defines its derivative.

    :param name: ``"namespace::name"``; the operation is also available as ``torch.ops.namespace.name``.
    :param fn: the function, whose parameters have type annotations; None for a decorator.
    :param mutates_args: the names of the arguments to which it writes; ``()`` for none.
    :param device_types: the supported devices; all by default.
    :param schema: the signature, instead of the annotations.
    :param tags: accepted and ignored.
    :returns: the operation, or a decorator that returns it.
    :raises ValueError: the name has no namespace, or a parameter has no annotation.

    >>> @torch.library.custom_op("examples::square", mutates_args=())
    ... def square(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(x.numpy() ** 2)
    >>> square.register_autograd(
    ...     lambda ctx, g: 2 * ctx.saved_tensors[0] * g,
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    ... )
    >>> x = torch.tensor([3.], requires_grad=True)
    >>> torch.ops.examples.square(x).backward()
    >>> x.grad
    tensor([6.])
    """

    def declare(fn: Callable[..., Any]) -> CustomOpDef:
        mutates = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
        inferred = infer_schema(fn, mutates_args=mutates) if schema is None else schema
        signature = inspect.signature(fn, eval_str=True) if schema is None else signature_of(schema)
        op = CustomOpDef(name, None if device_types else fn, inferred, signature, mutates)
        op._init_fn = fn
        if device_types:
            op.register_kernel(device_types, fn)
        return op

    return declare if fn is None else declare(fn)


def _operation(op: Any) -> CustomOpDef:
    """Return an operation, given as its name or as an attribute of ``torch.ops``."""
    found = _defined.get(op) if isinstance(op, str) else op if isinstance(op, CustomOpDef) else getattr(op, "_op", None)
    if not isinstance(found, CustomOpDef):
        raise ValueError(f"library: there is no operation {op!r}; custom_op or define makes one")
    return found


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Call ``CustomOpDef.register_kernel`` of an operation, given as itself or its name."""
    return _operation(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """Call ``CustomOpDef.register_autograd`` of an operation, given as itself or its name."""
    operation = _operation(op)
    operation._records = False
    operation.register_autograd(backward, setup_context=setup_context)


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, _stacklevel: int = 1, **options: Any
) -> Any:
    """Accept a function that computes an operation's shapes; it is never called. Also a decorator.

    :param op: the operation or its name.
    :param func: the function; None for a decorator.
    :param lib, options: accepted and ignored.
    :returns: ``func``, or the decorator.
    :raises ValueError: the operation does not exist.

    >>> @torch.library.custom_op("examples::negated", mutates_args=())
    ... def negated(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(-x.numpy())
    >>> @torch.library.register_fake("examples::negated")
    ... def _(x):
    ...     return torch.empty_like(x)
    >>> negated(torch.ones(2))
    tensor([-1., -1.])
    """
    operation = _operation(op)
    return operation.register_fake if func is None else operation.register_fake(func)


impl_abstract = register_fake


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Call ``CustomOpDef.register_vmap`` of an operation, given as itself or its name.

    :param op: the operation or its name.
    :param func: the rule, which returns the result and its batch dimension; None for a decorator.
    :param lib: accepted and ignored.
    :returns: ``func``, or the decorator.
    :raises ValueError: the operation does not exist.

    >>> @torch.library.custom_op("examples::opposite", mutates_args=())
    ... def opposite(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(-x.numpy())
    >>> @torch.library.register_vmap("examples::opposite")
    ... def _(info, in_dims, x):
    ...     return opposite(x), in_dims[0]
    >>> torch.vmap(opposite)(torch.ones(2, 1))
    tensor([[-1.],
            [-1.]])
    """
    return _operation(op).register_vmap(func)


def fallthrough_kernel() -> None:
    """Raise: this function marks the absence of a kernel for ``Library.impl``.

    :returns: nothing, because it always raises.
    :raises NotImplementedError: always.

    >>> lib = torch.library.Library("examples", "FRAGMENT")
    >>> _ = lib.define("kept(Tensor x) -> Tensor")
    >>> lib.impl("kept", lambda x: x.clone(), "CPU")
    >>> lib.impl("kept", torch.library.fallthrough_kernel, "Autograd")
    >>> torch.ops.examples.kept(torch.ones(2))
    tensor([1., 1.])
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Declare an operation by its schema; ``impl`` adds the kernel.

    :param qualname: ``"namespace::name"``.
    :param schema: a schema such as ``"(Tensor x, int k=2) -> Tensor"``.
    :param lib, tags: accepted and ignored.
    :returns: None.
    :raises ValueError: the schema is invalid, or the name has no namespace.

    >>> torch.library.define("examples::tripled", "(Tensor x) -> Tensor")
    >>> torch.library.impl("examples::tripled", "default", lambda x: x * 3)(torch.ones(1))
    tensor([3.])
    >>> torch.ops.examples.tripled(torch.ones(2))
    tensor([3., 3.])
    """
    CustomOpDef(qualname, None, schema, signature_of(schema))


def impl(qualname: str, types: Any, func: Callable[..., Any] | None = None, *, lib: Library | None = None) -> Any:
    """Register a kernel of an operation, for types of devices or for all (``"default"``). Also a decorator.

    :param qualname: ``"namespace::name"``.
    :param types: ``"cpu"``, ``"cuda"``, ``"default"``, or a sequence of them.
    :param func: the kernel; None for a decorator.
    :param lib: accepted and ignored.
    :returns: ``func``, or the decorator.
    :raises ValueError: the operation does not exist.

    >>> torch.library.define("examples::halved", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("examples::halved", "cpu")
    ... def _(x):
    ...     return x / 2
    >>> torch.ops.examples.halved(torch.ones(2))
    tensor([0.5000, 0.5000])
    """
    types = [types] if isinstance(types, str) else types
    return _operation(qualname).register_kernel([None if each == "default" else each for each in types], func)


class Library:
    """Operations of one namespace, declared by schemas, with kernels for dispatch keys.

    :param ns: the namespace.
    :param kind: ``"DEF"``, ``"FRAGMENT"`` or ``"IMPL"``.
    :param dispatch_key: the default key of ``impl``.
    :returns: a library; the operations are in ``torch.ops``.
    :raises ValueError: ``kind`` is unknown.

    >>> lib = torch.library.Library("examples", "FRAGMENT")
    >>> _ = lib.define("scaled(Tensor x, int k=2) -> Tensor")
    >>> lib.impl("scaled", lambda x, k=2: x * k, "CompositeImplicitAutograd")
    >>> torch.ops.examples.scaled(torch.ones(2), k=3)
    tensor([3., 3.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}; expected DEF, FRAGMENT or IMPL")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operation by its schema, which begins with its name; return the name."""
        name, signature = parse(schema)
        CustomOpDef(f"{self.ns}::{name}", None, schema, signature)
        return name

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False, **options: Any
    ) -> None:
        """Register a kernel of an operation.

        :param dispatch_key: ``"CompositeImplicitAutograd"`` for a kernel of recorded operations;
            ``"CPU"``, ``"CUDA"`` or ``"CompositeExplicitAutograd"`` for other kernels; ``"Meta"`` is never called.
        :raises NotImplementedError: the key is not supported.
        """
        name = op_name if isinstance(op_name, str) else getattr(op_name, "_leaf", str(op_name))
        op = _operation(f"{self.ns}::{name.partition('::')[2] or name.partition('.')[0]}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if key == "Meta" or fn is fallthrough_kernel:
            return
        if key not in ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CPU", "CUDA", "Autograd"):
            raise NotImplementedError(f"Library.impl(): nbautograd has no dispatch key {key!r}")
        op._records = key in ("CompositeImplicitAutograd", "Autograd")
        op.register_kernel(key.lower() if key in ("CPU", "CUDA") else None, fn)


def defined(name: str) -> CustomOpDef | None:
    """Return the operation with a qualified name."""
    return _defined.get(name)


import_in_module(__name__)
