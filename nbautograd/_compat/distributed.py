"""``torch.distributed``: one process, so it is not available, as in a PyTorch built without it.

Code behind ``if torch.distributed.is_available()`` does not run; all other names raise.
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn

__all__ = [
    "GroupMember", "ReduceOp", "get_backend", "get_rank", "get_world_size", "group", "is_available", "is_initialized",
]  # fmt: skip


class ReduceOp(enum.Enum):
    """The reductions over several processes: names for arguments, which are unused.

    :param value: the number of the member.
    :returns: the member.
    :raises ValueError: the number is unknown.

    >>> ReduceOp(0)
    <ReduceOp.SUM: 0>
    """

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)


class GroupMember:
    """Names for arguments, which are unused.

    :returns: an object without state; its attributes are of the class.

    >>> print(GroupMember.WORLD)
    None
    """

    WORLD = None
    NON_GROUP_MEMBER = -100


group = GroupMember


def is_available() -> bool:
    """Return False: nbautograd runs in one process with one device.

    :returns: a Python bool.

    >>> is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Return False: there is no group of processes.

    :returns: a Python bool.

    >>> is_initialized()
    False
    """
    return False


def get_rank(group: Any = None) -> int:
    """Raise, as PyTorch does without a group.

    :param group: accepted and ignored.
    :returns: nothing, because it always raises.
    :raises ValueError: always.

    >>> get_rank()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: Default process group has not been initialized, please make sure to call init_process_group; ...
    """
    _no_group("get_rank")


def get_world_size(group: Any = None) -> int:
    _no_group("get_world_size")


def get_backend(group: Any = None) -> str:
    _no_group("get_backend")


def _no_group(name: str) -> NoReturn:
    raise ValueError(
        "Default process group has not been initialized, please make sure to call init_process_group; and that "
        f"torch.distributed.{name} is not part of nbautograd: it is one process with one device"
    )


for _function in (get_world_size, get_backend):
    _function.__doc__ = (get_rank.__doc__ or "").replace("get_rank", _function.__name__)
del _function
