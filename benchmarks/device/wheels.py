"""List the packages missing on a machine without a network, and the way to carry them there."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
EXTRAS = ("device",)
PYTHON = "3.12"
PLATFORMS = (*(f"manylinux_2_{n}_x86_64" for n in (28, 27, 24, 17, 12, 5)), "manylinux2014_x86_64")


def wanted() -> list[str]:
    """The requirements of the package and of the steps on a device, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["dependencies"] + [text for extra in EXTRAS for text in project["optional-dependencies"][extra]]


def missing() -> list[str]:
    """Return the packages, among these and their requirements, that are not installed here."""
    lacking: dict[str, None] = {}
    seen: set[str] = set()
    waiting = [(Requirement(text), "") for text in wanted()]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            lacking[str(requirement).partition(";")[0].strip()] = None
            continue
        if not requirement.specifier.contains(found.version, prereleases=True):
            lacking[str(requirement).partition(";")[0].strip()] = None
        for part in ("", *requirement.extras):
            if f"{name}[{part}]" not in seen:
                seen.add(f"{name}[{part}]")
                waiting += [(Requirement(text), part) for text in found.requires or []]
    return sorted(lacking)


def packages(text: str) -> dict[str, str]:
    """Names and versions (empty where not said) from the output of ``pip freeze`` or ``pip list``, or bare names.

    >>> packages("numpy==2.5.2\\ncupy-cuda13x 14.2.0, Jinja2")
    {'numpy': '2.5.2', 'cupy-cuda13x': '14.2.0', 'jinja2': ''}
    """
    found = {}
    for part in re.split(r"[,\n]+", text):
        words = part.replace("==", " ").split()
        if words and re.fullmatch(r"[A-Za-z0-9._-]+", words[0]):
            version = words[1] if len(words) > 1 and words[1][:1].isdigit() else ""
            found[canonicalize_name(words[0])] = version
    return found


def resolved(have: dict[str, str]) -> dict[str, str]:
    """The versions of everything wanted that fits the installed packages: pip asks the package index.

    :raises subprocess.CalledProcessError: it could not, or they do not go together.
    """
    constraints = [f"{name}=={version}" for name, version in have.items() if version]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    command += ["--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp", "--target", "unused"]
    command += [f"--platform={platform}" for platform in PLATFORMS]
    limits = Path(ROOT / "build" / "constraints.txt")
    limits.parent.mkdir(exist_ok=True)
    limits.write_text("\n".join(constraints) + "\n")
    done = subprocess.run([*command, "-c", str(limits), *wanted()], capture_output=True, text=True, check=True)
    installs = json.loads(done.stdout)["install"]
    return {canonicalize_name(x["metadata"]["name"]): x["metadata"]["version"] for x in installs}


def download(requirements: list[str], alone: bool) -> str:
    """The command that brings them, to be run where there is a network."""
    lines = [f"pip download{' --no-deps' * alone} --only-binary=:all: --python-version {PYTHON} --implementation cp"]
    lines += [" ".join(f"--platform {platform}" for platform in PLATFORMS)]
    lines += [f"-d wheels {' '.join(repr(x) if set(x) & set('<>;[ ') else x for x in requirements)}"]
    return " \\\n    ".join(lines)


INSTALL = """and there, before anything else:

python3 -m pip install --no-index --no-deps --target SITE wheels/*.whl && export PYTHONPATH=SITE"""


def show(have: Path | None) -> None:
    """Print the missing packages; or, given a list of another machine's packages, the wheels to carry to it."""
    print(f"wanted: {', '.join(wanted())}")
    if have is None:
        lacking = missing()
        print(f"missing on this machine: {', '.join(lacking) or 'nothing'}")
        if lacking:
            print(f"\nwhere there is a network:\n\n{download(lacking, False)}\n\n{INSTALL}")
            print("\n(--have FILE with the output of `pip freeze` here leaves out installed packages)")
        return
    there = packages(have.read_text(encoding="utf-8"))
    versions = resolved(there)
    carried = sorted(f"{name}=={version}" for name, version in versions.items() if name not in there)
    print(f"there already: {len(versions.keys() & there.keys())} of {len(versions)} packages")
    print(f"to carry, {len(carried)}:\n\n{download(carried, True)}\n\n{INSTALL}" if carried else "nothing to carry")
