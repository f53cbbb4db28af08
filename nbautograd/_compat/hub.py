"""``torch.hub``: models from a directory with a ``hubconf.py``. Nothing is downloaded.

A repository on this computer is loaded as in PyTorch: by ``source="local"``, or from the cache, where PyTorch stored
it. Its ``hubconf.py`` is Python code, which is run: load only trusted repositories.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import unquote, urlparse

from nbautograd import serialization
from nbautograd._engine.base.atomic_file import replacing
from nbautograd._names.refused import refuse
from nbautograd.errors import kind_of

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
"""Finds the beginning of the expected SHA-256 hash in the name of a file."""

_NO_NETWORK = "nothing is downloaded; download it yourself"
_directory: str | None = None


def get_dir() -> str:
    """Return the directory of repositories and weights, by default ``$TORCH_HOME/hub`` or ``~/.cache/torch/hub``.

    :returns: a path, as a string.

    >>> import nbautograd as torch
    >>> torch.hub.get_dir().endswith("hub")
    True
    """
    if _directory is not None:
        return _directory
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    home = os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))
    return os.path.join(home, "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the directory of repositories and weights.

    :param d: the directory; ``~`` is the home directory.
    :returns: None.
    :raises TypeError: ``d`` is not a path.

    >>> import nbautograd as torch
    >>> before = torch.hub.get_dir()
    >>> torch.hub.set_dir("/models")
    >>> torch.hub.get_dir()
    '/models'
    >>> torch.hub.set_dir(before)
    """
    global _directory
    _directory = os.path.expanduser(d)


def load(
    repo_or_dir: Any, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call the function ``model`` of a repository's ``hubconf.py``.


    :param repo_or_dir: the directory with ``source="local"``; otherwise ``"owner/name"`` or ``"owner/name:branch"``,
        whose copy in ``get_dir()`` is used.
    :param model: the name of the function.
    :param args, kwargs: the arguments of the function.
    :param source: ``"github"`` or ``"local"``.
    :param trust_repo, verbose, skip_validation: accepted and ignored.
    :param force_reload: download again, which is not supported.
    :returns: the function's result.
    :raises ValueError: ``source`` is unknown, or ``repo_or_dir`` has another form.
    :raises FileNotFoundError: ``hubconf.py`` does not exist.
    :raises RuntimeError: the function does not exist, or needs packages that are not installed.
    :raises NotImplementedError: the repository would have to be downloaded.

    >>> import tempfile, pathlib, nbautograd as torch
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory, "hubconf.py")
    ...     _ = path.write_text("def line(n): import nbautograd; return nbautograd.nn.Linear(n, 1)")
    ...     torch.hub.load(directory, "line", 2, source="local")
    Linear(in_features=2, out_features=1, bias=True)
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    directory = repo_or_dir if source == "local" else _cached(repo_or_dir, "load", force_reload)
    with _configuration(directory) as module:
        return _entry(module, model)(*args, **kwargs)


def list(
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
    verbose: bool = True,
) -> Any:  # fmt: skip
    """Return the names of a repository's functions; the repository is as in ``load``.

    :param github: ``"owner/name"`` or ``"owner/name:branch"``.
    :param force_reload: download again, which is not supported.
    :param skip_validation, trust_repo, verbose: accepted and ignored.
    :returns: a list of strings.
    :raises NotImplementedError: the repository would have to be downloaded.
    :raises ValueError: ``github`` has another form.

    >>> import nbautograd as torch
    >>> torch.hub.list("owner/name", force_reload=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.hub.list from the network is not part of nbautograd: ...
    """
    with _configuration(_cached(github, "list", force_reload)) as module:
        return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check"
) -> str | None:
    """Return the docstring of a repository's function; the repository is as in ``load``.

    :param github: ``"owner/name"`` or ``"owner/name:branch"``.
    :param model: the name of the function.
    :param force_reload: download again, which is not supported.
    :param skip_validation, trust_repo: accepted and ignored.
    :returns: a string, or None without a docstring.
    :raises NotImplementedError: the repository would have to be downloaded.
    :raises ValueError: ``github`` has another form.
    :raises RuntimeError: the function does not exist, or needs packages that are not installed.

    >>> import nbautograd as torch
    >>> torch.hub.help("owner/name", "model", force_reload=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.hub.help from the network is not part of nbautograd: ...
    """
    with _configuration(_cached(github, "help", force_reload)) as module:
        return inspect.getdoc(_entry(module, model))


def _cached(github: Any, function: str, force_reload: bool) -> str:
    """Return the directory of a downloaded repository."""
    match = re.fullmatch(r"([^/:]+)/([^/:]+)(?::(.+))?", str(github))
    if match is None:
        raise ValueError(f"hub.{function}(): expected 'owner/name' or 'owner/name:branch', got {github!r}")
    for branch in [match[3]] if match[3] else ["main", "master"]:
        path = os.path.join(get_dir(), "_".join([match[1], match[2], branch.replace("/", "_")]))
        if os.path.exists(path) and not force_reload:
            return path
    return _refuse(function, f", and load it with source='local': https://github.com/{match[1]}/{match[2]}")


def _refuse(function: str, what: str) -> NoReturn:
    refuse(f"hub.{function} from the network", _NO_NETWORK + what)


@contextmanager
def _configuration(directory: str | os.PathLike[str]) -> Iterator[ModuleType]:
    """Run a repository's ``hubconf.py`` with the repository in Python's path."""
    path = os.path.join(directory, "hubconf.py")
    if not os.path.exists(path):
        raise FileNotFoundError(2, "No such file or directory", path)
    sys.path.insert(0, os.fspath(directory))
    try:
        spec = spec_from_file_location("hubconf.py", path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(os.fspath(directory))


def _entry(module: ModuleType, model: str) -> Any:
    """Return a function of ``hubconf.py``, after checking for its required packages."""
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    names = [name for name in getattr(module, "dependencies", ()) if name != "torch" and name not in sys.modules]
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy a local file, given as a ``file:`` address.

    :param url: the address.
    :param dst: the path of the copy.
    :param hash_prefix: the required beginning of the file's SHA-256 hash, in lowercase hexadecimal digits.
    :param progress: accepted and ignored.
    :returns: None.
    :raises NotImplementedError: the address is not a ``file:`` address.
    :raises FileNotFoundError: the file does not exist.
    :raises RuntimeError: the hash differs; the file is then not copied.
    :raises TypeError: ``hash_prefix`` is not a str.

    >>> import tempfile, pathlib, nbautograd as torch
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     source, copy = pathlib.Path(directory, "a.txt"), pathlib.Path(directory, "b.txt")
    ...     _ = source.write_text("weights")
    ...     torch.hub.download_url_to_file(source.as_uri(), str(copy))
    ...     copy.read_text()
    'weights'
    """
    address = urlparse(url)
    if address.scheme != "file":
        _refuse("download_url_to_file", f": {url}")
    source = unquote(address.path)
    if hash_prefix is not None:
        _check_hash(source, hash_prefix)
    with open(source, "rb") as whole, replacing(os.path.expanduser(dst)) as copy:
        shutil.copyfileobj(whole, copy)


def _check_hash(path: str, prefix: str) -> None:
    if not isinstance(prefix, str):
        raise TypeError(f"download_url_to_file(): argument 'hash_prefix' must be str, not {kind_of(prefix)}")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not digest.startswith(prefix):
        raise RuntimeError(f'invalid hash value (expected "{prefix}", got "{digest}")')


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = True,
) -> Any:  # fmt: skip
    """Load downloaded weights: the file of this name in the directory of checkpoints.

    :param url: the address; its last part is the name of the file.
    :param model_dir: the directory; by default ``checkpoints`` in ``get_dir()``.
    :param map_location: the device of the tensors, as in ``torch.load``.
    :param progress: accepted and ignored.
    :param check_hash: if a ``file:`` address is copied, check that the file has the SHA-256 hash in its
        name, as in ``resnet18-f37072fd.pth``.
    :param file_name: the name of the file; by default from the address.
    :param weights_only: read only tensors and containers, as in ``torch.load``.
    :returns: the saved object, usually a state_dict.
    :raises NotImplementedError: the file would have to be downloaded.
    :raises RuntimeError: the file does not have the hash in its name.

    >>> import tempfile, nbautograd as torch
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     torch.save({"weight": torch.ones(2)}, f"{directory}/line.pth")
    ...     torch.hub.load_state_dict_from_url("https://example.org/line.pth", directory)
    {'weight': tensor([1., 1.])}
    """
    directory = model_dir or os.path.join(get_dir(), "checkpoints")
    path = Path(directory, file_name or os.path.basename(urlparse(url).path))
    if not path.exists():
        if urlparse(url).scheme != "file":
            _refuse("load_state_dict_from_url", f": {url}, as {path}")
        path.parent.mkdir(parents=True, exist_ok=True)
        name_hash = HASH_REGEX.search(path.name) if check_hash else None
        download_url_to_file(url, str(path), name_hash and name_hash[1])
    return serialization.load(path, map_location=map_location, weights_only=weights_only)
