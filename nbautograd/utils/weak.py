"""``torch.utils.weak``: dictionaries whose keys are tensors, by identity, and do not keep them alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._names import absent

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that is equal to those to the same object, and has its identity for a hash.

    :param key: the object.
    :param callback: called with the reference when the object is gone.
    :returns: a reference; called, it returns the object, or None when that is gone.
    :raises TypeError: objects of this class cannot be referenced weakly, such as numbers.

    >>> import nbautograd as torch
    >>> x = torch.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(torch.ones(2)), WeakIdRef(x)() is x
    (True, False, True)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        key = self()  # of a dead object the identity may be that of a new one
        return key is not None and isinstance(other, weakref.ref) and key is other()


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by the identity of its keys, which lose their entries when nobody else holds them.

    :param dict: a mapping, or pairs, whose entries it has at first.
    :param ref_type: the class of the references to keys.
    :returns: a mutable mapping.
    :raises TypeError: a key cannot be referenced weakly.

    >>> import nbautograd as torch
    >>> x, names = torch.ones(2), WeakTensorKeyDictionary()
    >>> names[x] = "x"
    >>> names[x], torch.ones(2) in names
    ('x', False)
    >>> del x
    >>> len(names)
    0
    """

    def __init__(self, dict: Any = None, ref_type: type = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        alive = weakref.ref(self)

        def remove(key: Any) -> None:
            itself = alive()
            if itself is not None:
                itself.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing that can be referenced weakly
            return False

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._pairs())

    def __len__(self) -> int:
        return len(self.data)

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        """The entries whose keys are alive, of a copy: a key may die meanwhile."""
        for reference, value in list(self.data.items()):
            key = reference()
            if key is not None:
                yield key, value

    def items(self) -> ItemsView[Any, Any]:
        """The entries."""
        return self._pairs()  # type: ignore[return-value]

    def keyrefs(self) -> list[Any]:
        """The references to the keys."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Take out the entry that came last."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def update(self, dict: Any = None, /, **kwargs: Any) -> None:
        """Enter what another mapping, or pairs, have."""
        pairs: Iterable[Any] = dict.items() if hasattr(dict, "items") else dict or ()
        for key, value in pairs:
            self[key] = value

    def copy(self) -> WeakIdKeyDictionary:
        """Another one with the same entries."""
        return type(self)(self)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        return type(self)([(key, deepcopy(value, memo)) for key, value in self._pairs()])

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        result = type(self)(other)
        result.update(self)
        return result

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self._pairs()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor, or None when that is gone.

    :param tensor: the tensor.
    :returns: a reference.
    :raises AssertionError: it is no tensor.

    >>> import nbautograd as torch
    >>> x = torch.ones(2)
    >>> reference = TensorWeakRef(x)
    >>> reference() is x
    True
    >>> del x
    >>> print(reference())
    None
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        """Give the tensor, or None."""
        return self.ref()


absent.answer(__name__)
