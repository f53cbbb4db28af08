"""``torch._functorch``: the private home of ``torch.func`` in PyTorch."""

from nbautograd.func import *  # noqa: F403
from nbautograd.func import __all__ as __all__
