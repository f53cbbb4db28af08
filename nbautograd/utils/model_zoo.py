"""``torch.utils.model_zoo``: a former name of ``torch.hub.load_state_dict_from_url``."""

from __future__ import annotations

from nbautograd._compat.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
