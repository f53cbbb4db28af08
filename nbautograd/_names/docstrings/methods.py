"""Docstrings of methods of ``Tensor``, ``Node`` and ``Function``, stored here because their files are full."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import TypeVar

from nbautograd._names.docstrings import INDENT, with_import

C = TypeVar("C", bound=type)
DOUBLE = """>>> class Double(torch.autograd.Function):
...     @staticmethod
...     def forward(ctx, x):
...         return 2 * x
"""
DOUBLE_APART = (
    DOUBLE.replace("ctx, x", "x")
    + """...     @staticmethod
...     def setup_context(ctx, inputs, output):
...         pass
"""
)
METHODS: Mapping[str, Mapping[str, str]] = {
    "Tensor": {
        "__array_wrap__": """Return a result of a NumPy function as a tensor; NumPy calls it, as in ``np.sin(tensor)``.

:param array: the result, an array; bools become uint8.
:param context: the called function; has no effect.
:param return_scalar: has no effect.
:returns: a tensor of the shape of ``array``.
:raises AttributeError: ``array`` is not an array.

>>> import numpy as np
>>> import nbautograd as torch
>>> np.square(torch.tensor([1., 2.]))
tensor([1., 4.])""",
        "__iter__": """Iterate over the parts along the first dimension.

:returns: an iterator of views.
:raises TypeError: the tensor has no dimensions.

>>> [row.tolist() for row in torch.tensor([[1, 2], [3, 4]])]
[[1, 2], [3, 4]]""",
        "__contains__": """Return ``element in tensor``: whether any element is equal to it.

:param element: a number, or a tensor, which is broadcast.
:returns: a Python bool.
:raises RuntimeError: ``element`` has another type, or its shape does not broadcast.

>>> 2 in torch.tensor([1, 2]), 3 in torch.tensor([1, 2])
(True, False)""",
        "__format__": """Format the tensor for an f-string; a 0-d tensor is formatted as a number.

:param spec: the format after the colon, as for a Python number.
:returns: a string.
:raises TypeError: ``spec`` is not empty, and the tensor has a dimension.
:raises ValueError: ``spec`` is invalid for this number.

>>> f"{torch.tensor(3.14159):.2f}"
'3.14'""",
        "__repr__": """Return the tensor as text: its elements, and its unusual properties.

:param tensor_contents: text in place of the elements.
:returns: a string.
:raises TypeError: another argument is given.

>>> repr(torch.tensor([1., 2.], requires_grad=True))
'tensor([1., 2.], requires_grad=True)'""",
        "__deepcopy__": """Copy the tensor for ``copy.deepcopy``, with its own memory and gradient; a leaf stays a leaf.

:param memo: the copies made so far, by the ``id`` of the object.
:returns: a tensor of the same shape.
:raises RuntimeError: the tensor was computed from one that requires grad.

>>> import copy
>>> import nbautograd as torch
>>> copy.deepcopy(torch.ones(2, requires_grad=True))
tensor([1., 1.], requires_grad=True)""",
        "__reduce_ex__": """:param protocol: the number of pickle's protocol; has no effect.
:returns: a function, its arguments, and the attributes that were set on the tensor or None.
:raises TypeError: ``protocol`` is missing.

>>> import pickle
>>> import nbautograd as torch
>>> pickle.loads(pickle.dumps(torch.tensor([1, 2])))
tensor([1, 2])""",
        "detach_": """:returns: the tensor itself.
:raises RuntimeError: the tensor is a view.

>>> y = torch.ones(2, requires_grad=True) * 3
>>> y.detach_()
tensor([3., 3.])""",
        "detach": """:returns: a tensor of the same shape.

>>> w = torch.tensor([1.], requires_grad=True)
>>> d = w.detach()
>>> d[0] = 999
>>> w
tensor([999.], requires_grad=True)""",
        "requires_grad_": """:param requires_grad: True to record operations on it.
:returns: the tensor itself.
:raises RuntimeError: the dtype is neither floating nor complex, or the tensor was computed.
:raises TypeError: ``requires_grad`` is not a bool.

>>> torch.ones(2).requires_grad_()
tensor([1., 1.], requires_grad=True)""",
        "retain_grad": """:returns: None.
:raises RuntimeError: the tensor does not require grad.

>>> x = torch.tensor(2.0, requires_grad=True)
>>> y = x * x
>>> y.retain_grad()
>>> (3 * y).backward()
>>> y.grad
tensor(3.)""",
        "register_post_accumulate_grad_hook": """:param hook: a function of the tensor, whose ``.grad`` is new.
:returns: a handle, whose ``remove()`` removes the hook.
:raises RuntimeError: the tensor is not a leaf that requires grad.

>>> x = torch.tensor(2.0, requires_grad=True)
>>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
>>> (x * 3).backward()
tensor(3.)""",
    },
    "Node": {
        "name": """:returns: a string.

>>> (torch.tensor(2.0, requires_grad=True) * 3).grad_fn.name()
'MulBackward0'""",
        "register_hook": """:param hook: the function; it gets two tuples of gradients.
:returns: a handle, whose ``remove()`` removes the hook.
:raises TypeError: ``hook`` is not callable.

>>> y = torch.tensor(2.0, requires_grad=True) * 3
>>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: print(grad_outputs))
>>> y.backward()
(tensor(1.),)""",
        "register_prehook": """:param hook: the function; it gets a tuple of gradients.
:returns: a handle, whose ``remove()`` removes the hook.
:raises TypeError: ``hook`` is not callable.

>>> x = torch.tensor(2.0, requires_grad=True)
>>> y = x * 3
>>> handle = y.grad_fn.register_prehook(lambda grad_outputs: (10 * grad_outputs[0],))
>>> y.backward()
>>> x.grad
tensor(30.)""",
    },
    "Function": {
        "forward": f""":param args: ``ctx`` and the arguments; only the arguments if ``setup_context`` is defined.
:param kwargs: arguments by name.
:returns: a tensor of any shape, or a tuple of tensors and other values.
:raises NotImplementedError: the method is not overridden.

{DOUBLE}...
>>> Double.apply(torch.tensor(2.0))
tensor(4.)""",
        "setup_context": """:param ctx: the context.
:param inputs: the arguments of ``forward``.
:param output: its result.
:returns: None.
:raises NotImplementedError: the method is called but not overridden.

>>> class Square(torch.autograd.Function):
...     @staticmethod
...     def forward(x):
...         return x * x
...     @staticmethod
...     def setup_context(ctx, inputs, output):
...         ctx.save_for_backward(*inputs)
...     @staticmethod
...     def backward(ctx, g):
...         return 2 * ctx.saved_tensors[0] * g
...
>>> x = torch.tensor(2.0, requires_grad=True)
>>> Square.apply(x).backward()
>>> x.grad
tensor(4.)""",
        "backward": f""":param ctx: the context.
:param grad_outputs: the gradient of each output, of its shape.
:returns: a gradient for each argument of ``forward``, of its shape; None for an argument without one.
:raises NotImplementedError: the method is not overridden.

{DOUBLE}...     @staticmethod
...     def backward(ctx, g):
...         return 2 * g
...
>>> x = torch.tensor(2.0, requires_grad=True)
>>> Double.apply(x).backward()
>>> x.grad
tensor(2.)""",
        "jvp": f""":param ctx: the context.
:param grad_inputs: the tangent of each argument; None for an argument without one.
:returns: the tangent of each output, of its shape.
:raises NotImplementedError: the method is not overridden.

{DOUBLE_APART}...     @staticmethod
...     def jvp(ctx, tangent):
...         return 2 * tangent
...
>>> torch.func.jvp(Double.apply, (torch.tensor(3.0),), (torch.tensor(1.0),))
(tensor(6.), tensor(2.))""",
        "vmap": f""":param info: ``info.batch_size`` and ``info.randomness``.
:param in_dims: the batch dimension of each argument, None if all samples share it.
:param args: the arguments of ``forward``.
:returns: the results, and the batch dimension of each, or None.
:raises NotImplementedError: the method is called but not overridden.

{DOUBLE_APART}...     @staticmethod
...     def vmap(info, in_dims, x):
...         return Double.apply(x), in_dims[0]
...
>>> torch.func.vmap(Double.apply)(torch.tensor([1.0, 2.0]))
tensor([2., 4.])""",
    },
}
"""By class and method: the part of the docstring after the first sentence, or all of it."""


def describe_methods(cls: C) -> C:
    """Decorate a class: complete its methods' docstrings from ``METHODS``."""
    for name, text in METHODS[cls.__name__].items():
        method = vars(cls)[name]
        method = getattr(method, "__func__", method)
        own, text = (method.__doc__ or "").rstrip(), with_import(text)
        rest = text.replace("\n", "\n" + INDENT) if INDENT else text
        method.__doc__ = (f"{own}\n\n{INDENT}{rest}" if own else rest) + "\n"
    return cls


def of_tensors(cls: C) -> C:
    """Decorate a class of tensors' methods: Python's own errors name them, and their examples import the package."""
    for name, method in vars(cls).items():
        if isinstance(method, FunctionType):
            method.__qualname__ = f"Tensor.{name}"
            method.__doc__ = method.__doc__ and with_import(method.__doc__)
    return cls
