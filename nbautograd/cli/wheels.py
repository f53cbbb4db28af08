"""Wheels made from installed packages, for a Python without access to local files.

No package index is used and nothing is compiled: a wheel is assembled from the files of an installed distribution.
Compiled modules are omitted if the same module is beside them in Python, as for those that mypyc compiles.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tokenize
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from importlib.resources import files
from pathlib import Path, PurePosixPath

from nbautograd._engine.base.installing import command

__all__ = ["closure", "normalized", "repack", "repack_own"]

ENVIRONMENT = {"sys_platform": "emscripten", "platform_system": "Emscripten", "platform_machine": "wasm32", "extra": ""}
"""The environment markers of requirements, in a browser."""
COMPILED = (".so", ".pyd", ".dylib")
NOT_RUN = (".md", ".pyi", ".typed")
LEFT_OUT = (
    "course", "cli", "__main__.py", "viz/compare.py", "viz/nbval.py", "viz/sphinx.py",
    "viz/static/lab.js", "viz/static/lab_entry.js", "_engine/arrays/segmented_sum.py", "_engine/fusion/cuda_kernel.py",
    "viz/capture/torch_rest.py", "viz/capture/torch_stop.py", "utils/tensorboard.py",
)  # fmt: skip
"""Parts that a browser does not need: notebooks and JupyterLab's extension are files of the site; it has no commands,
no pytest, no Sphinx, no TensorBoard, no PyTorch and no CUDA device."""
WHEEL = "Wheel-Version: 1.0\nGenerator: nbautograd\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def normalized(name: str) -> str:
    """Return the name of a distribution as package indexes compare it.

    >>> normalized("jupyterlab_widgets")
    'jupyterlab-widgets'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(names: Iterable[str], without: Iterable[str]) -> list[Distribution]:
    """Return these distributions and all their requirements in a browser, except ``without`` and its requirements.

    :raises PackageNotFoundError: a distribution is not installed.
    """
    from packaging.requirements import Requirement

    chosen: dict[str, Distribution] = {}
    waiting, known = [normalized(name) for name in names], {normalized(name) for name in without}
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        known.add(name)
        chosen[name] = found = distribution(name)
        for requirement in map(Requirement, found.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate(dict(ENVIRONMENT)):
                waiting.append(normalized(requirement.name))
    return [chosen[name] for name in sorted(chosen)]


def repack(installed: Distribution, folder: Path) -> Path:
    """Write the wheel of an installed, pure Python distribution into a folder.

    :raises ValueError: it has no list of installed files, or has modules that are only compiled.
    """
    name = installed.metadata["Name"]
    if not installed.files or any(str(file).endswith(".pth") for file in installed.files):
        raise ValueError(f"{name} is not installed as its own files (is it editable?): {command(name)}")
    contents = {}
    for file in installed.files:
        path = PurePosixPath(file)
        is_outside = path.is_absolute() or path.parts[0] == ".."  # a command, or data
        if is_outside or path.parts[0].endswith(".dist-info") or "__pycache__" in path.parts:
            continue
        if path.suffix in COMPILED:
            module = path.with_name(path.name.partition(".")[0] + ".py")
            if "__mypyc" in path.name or module in map(PurePosixPath, installed.files):
                continue
            raise ValueError(f"{name} cannot be used in a browser: {path} is compiled, and {module.name} is missing")
        contents[str(path)] = Path(str(installed.locate_file(file))).read_bytes()
    return _write(folder, name, installed.version, installed.read_text("METADATA") or "", contents)


def repack_own(folder: Path) -> Path:
    """Write the wheel of this package, for any kind of installation."""
    from nbautograd.viz.notebook.scripts import without_remarks

    package, shorten = Path(str(files("nbautograd"))), {".js": without_remarks, ".py": _without_comments}
    contents = {}
    for path in _own_files(package):
        content = path.read_bytes()
        if path.suffix in shorten:
            content = shorten[path.suffix](content.decode("utf-8")).encode("utf-8")
        contents[f"nbautograd/{path.relative_to(package).as_posix()}"] = content
    installed = distribution("nbautograd")
    return _write(folder, "nbautograd", installed.version, installed.read_text("METADATA") or "", contents)


def _without_comments(source: str) -> str:
    r"""Return Python without its comments, on the same lines.

    >>> _without_comments("a = '# 1'  # one\n# two\nb = 2\n")
    "a = '# 1'\n\nb = 2\n"
    """
    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip() + "\n"
    return "".join(lines)


def _own_files(package: Path) -> Iterator[Path]:
    for path in sorted(package.rglob("*")):
        relative = path.relative_to(package)
        left_out = relative.parts[0] in LEFT_OUT or relative.as_posix() in LEFT_OUT or path.suffix in NOT_RUN
        if path.is_file() and "__pycache__" not in relative.parts and not left_out:
            yield path


def _write(folder: Path, name: str, version: str, metadata: str, contents: dict[str, bytes]) -> Path:
    """Write a wheel; equal files give equal bytes."""
    stem = f"{normalized(name).replace('-', '_')}-{version}"
    place = folder / f"{stem}-py3-none-any.whl"
    info = f"{stem}.dist-info"
    fields = metadata.partition("\n\n")[0] + "\n"  # without the description that follows, which a browser does not show
    contents = {**contents, f"{info}/METADATA": fields.encode(), f"{info}/WHEEL": WHEEL.encode()}
    record = [f"{path},sha256={_hash(content)},{len(content)}\n" for path, content in contents.items()]
    contents[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    with zipfile.ZipFile(place, "w") as archive:
        for path, content in contents.items():
            entry = zipfile.ZipInfo(path)  # of 1980
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)  # an entry does not take the archive's level
    return place


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
