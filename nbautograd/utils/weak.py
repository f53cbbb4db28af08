"""``torch.utils.weak``: dictionaries by the identity of tensors, which do not keep their keys alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._names import absent

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that compares and hashes by the identity of its object.

    :param key: the object.
    :param callback: called with the reference when the object is deleted.
    :returns: a reference; a call returns the object, or None if it is deleted.
    :raises TypeError: the object does not support weak references, such as a number.

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
        key = self()  # a new object may have the identity of a dead one
        return key is not None and isinstance(other, weakref.ref) and key is other()


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by the identity of its keys, which drops the entry of a key without other references.

    :param dict: a mapping, or pairs, with the initial entries.
    :param ref_type: the class of the references to keys.
    :returns: a mutable mapping.
    :raises TypeError: a key does not support weak references.

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
        except TypeError:  # does not support weak references
            return False

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._pairs())

    def __len__(self) -> int:
        return len(self.data)

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        """Yield the entries whose keys are alive, from a copy, because a key may die during iteration."""
        for reference, value in list(self.data.items()):
            key = reference()
            if key is not None:
                yield key, value

    def items(self) -> ItemsView[Any, Any]:
        """Return the entries."""
        return self._pairs()  # type: ignore[return-value]

    def keyrefs(self) -> list[Any]:
        """Return the references to the keys."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Remove the last entry, and return it."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def update(self, dict: Any = None, /, **kwargs: Any) -> None:
        """Add the entries of another mapping, or of pairs."""
        pairs: Iterable[Any] = dict.items() if hasattr(dict, "items") else dict or ()
        for key, value in pairs:
            self[key] = value

    def copy(self) -> WeakIdKeyDictionary:
        """Return another dictionary with the same entries."""
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
    """A weak reference to a tensor: a call returns the tensor, or None if it is deleted.

    :param tensor: the tensor.
    :returns: a reference.
    :raises AssertionError: ``tensor`` is not a tensor.

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
        """Return the tensor, or None."""
        return self.ref()


absent.answer(__name__)
