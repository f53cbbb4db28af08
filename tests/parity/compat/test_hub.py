"""Models from a directory with a ``hubconf.py``, under both libraries."""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path
from typing import Any

import pytest

import nbautograd
from tests import oracle

CONFIGURATION = '''
dependencies = ["numpy"]
from helper_of_hub import layer as _layer


def line(outputs, bias=True):
    """A layer."""
    return _layer(outputs, bias)


def _hidden():
    pass
'''
HELPER = """
import sys
def layer(outputs, bias):
    return ("layer", outputs, bias, sys.path[0])
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hubconf.py").write_text(CONFIGURATION)
    (tmp_path / "helper_of_hub.py").write_text(HELPER)
    monkeypatch.delitem(sys.modules, "helper_of_hub", raising=False)
    return tmp_path


def test_a_local_repository(repository: Path) -> None:
    def program(lib: Any) -> Any:
        *parts, path = lib.hub.load(str(repository), "line", 3, bias=False, source="local")
        return parts, path == str(repository), str(repository) in sys.path

    assert oracle.check(program) == (["layer", 3, False], True, False)


def test_what_is_wrong_with_a_repository(repository: Path) -> None:
    def program(lib: Any) -> None:
        with pytest.raises(RuntimeError, match="Cannot find callable curve in hubconf"):
            lib.hub.load(str(repository), "curve", source="local")
        with pytest.raises(ValueError, match="Unknown source"):
            lib.hub.load(str(repository), "line", source="elsewhere")
        with pytest.raises(FileNotFoundError):
            lib.hub.load(str(repository / "nowhere"), "line", source="local")
        (repository / "hubconf.py").write_text("dependencies = ['what_nobody_has']\ndef line(): pass")
        with pytest.raises(RuntimeError, match="Missing dependencies: what_nobody_has"):
            lib.hub.load(str(repository), "line", source="local")
        (repository / "hubconf.py").write_text(CONFIGURATION)

    oracle.check(program)


def test_a_repository_that_was_downloaded_before(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = nbautograd.hub
    monkeypatch.setattr(sys.modules[hub.__name__], "_directory", None)
    hub.set_dir(repository.parent / "cache")
    assert hub.get_dir() == str(repository.parent / "cache")
    cached = repository.parent / "cache" / "owner_models_main"
    cached.parent.mkdir()
    repository.rename(cached)
    assert hub.list("owner/models") == ["line"] and hub.help("owner/models:main", "line") == "A layer."
    assert hub.load("owner/models", "line", 2)[1] == 2
    with pytest.raises(NotImplementedError, match="nothing is downloaded"):
        hub.load("owner/models", "line", 2, force_reload=True)
    with pytest.raises(ValueError, match="expected 'owner/name'"):
        hub.load("models", "line")


def test_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def program(lib: Any) -> None:
        monkeypatch.setattr(sys.modules[lib.hub.__name__], "_directory" if lib is nbautograd else "_hub_dir", None)
        monkeypatch.setenv("TORCH_HOME", str(tmp_path))
        assert lib.hub.get_dir() == str(tmp_path / "hub")
        monkeypatch.delenv("TORCH_HOME")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert lib.hub.get_dir() == str(tmp_path / "torch" / "hub")

    oracle.check(program)


def test_weights_that_were_downloaded_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(sys.modules[nbautograd.hub.__name__], "_directory", None)
    checkpoints = tmp_path / "hub" / "checkpoints"
    checkpoints.mkdir(parents=True)

    def saved(lib: Any) -> bytes:
        lib.save({"weight": lib.arange(3.0)}, file := io.BytesIO())
        return file.getvalue()

    file = oracle.answer(saved)
    (checkpoints / "model.pt").write_bytes(file)
    loaded = oracle.check(lambda lib: lib.hub.load_state_dict_from_url("https://example.org/model.pt"), exact=True)
    assert loaded["weight"].tolist() == [0.0, 1.0, 2.0]
    (tmp_path / "a file.pt").write_bytes(file)
    address = (tmp_path / "a file.pt").as_uri()
    assert nbautograd.utils.model_zoo.load_url(address, file_name="b.pt")["weight"].tolist() == [0.0, 1.0, 2.0]
    assert (checkpoints / "b.pt").exists()

    def copied(lib: Any) -> bool:
        lib.hub.download_url_to_file(address, str(tmp_path / "copy.pt"), progress=False)
        return (tmp_path / "copy.pt").read_bytes() == file

    assert oracle.check(copied)


def test_the_hash_of_a_file(tmp_path: Path) -> None:
    source, copy = tmp_path / "model-abcdef12.pt", tmp_path / "copy.pt"
    source.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()

    def program(lib: Any) -> None:
        for prefix in (digest, digest[:6], ""):
            lib.hub.download_url_to_file(source.as_uri(), str(copy), prefix, progress=False)
            assert copy.read_bytes() == b"weights"
            copy.unlink()
        for prefix in ("abcdef12", digest.upper()):
            with pytest.raises(RuntimeError, match=f'invalid hash value .expected "{prefix}", got "{digest}"'):
                lib.hub.download_url_to_file(source.as_uri(), str(copy), prefix, progress=False)
        with pytest.raises(TypeError):
            lib.hub.download_url_to_file(source.as_uri(), str(copy), 3, progress=False)
        with pytest.raises(RuntimeError, match=r'invalid hash value .expected "abcdef12"'):
            lib.hub.load_state_dict_from_url(source.as_uri(), str(tmp_path / "k"), check_hash=True, progress=False)
        assert not copy.exists() and not [*(tmp_path / "k").iterdir()]

    oracle.check(program)
