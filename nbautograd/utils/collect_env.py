"""``python -m nbautograd.utils.collect_env``: versions and devices, in PyTorch's form, for a report.

``nbautograd doctor`` reports more, and how to install missing packages.
"""

from __future__ import annotations

import platform
import sys
from importlib.metadata import distributions
from typing import NamedTuple

from nbautograd import cuda, version
from nbautograd._compat.backends import get_cpu_capability

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]

_PACKAGES = ("nbautograd", "numpy", "scipy", "cupy", "ml-dtypes", "anywidget", "ipykernel", "jupyterlab", "torch")


class SystemEnv(NamedTuple):
    """The entries of a report, by PyTorch's names."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    os: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    nvidia_gpu_models: str
    pip_packages: list[str]
    cpu_info: str


def get_env_info() -> SystemEnv:
    """Collect versions and devices.

    >>> import nbautograd as torch
    >>> torch.utils.collect_env.get_env_info().torch_version == torch.__version__
    True
    """
    installed = {str(each.metadata["Name"]).lower(): each.version for each in distributions()}
    available = cuda.is_available()
    return SystemEnv(
        torch_version=str(version.__version__),
        is_debug_build=str(version.debug),
        cuda_compiled_version=str(version.cuda),
        os=f"{platform.system()} {platform.release()} ({platform.machine()})",
        python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)".replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available=str(available),
        nvidia_gpu_models="\n".join(cuda.get_device_name(each) for each in range(cuda.device_count())) or "none",
        pip_packages=[f"{name}=={installed[name]}" for name in installed if name.startswith(_PACKAGES)],
        cpu_info=f"{platform.processor() or platform.machine()}, {get_cpu_capability()}",
    )


def get_pretty_env_info() -> str:
    """Return the report as text."""
    info = get_env_info()
    packages = "\n".join(f"[pip3] {each}" for each in sorted(info.pip_packages))
    return f"""nbautograd version: {info.torch_version}
Is debug build: {info.is_debug_build}
CUDA used: {info.cuda_compiled_version}

OS: {info.os}

Python version: {info.python_version}
Python platform: {info.python_platform}
Is CUDA available: {info.is_cuda_available}
GPU models and configuration: {info.nvidia_gpu_models}

CPU: {info.cpu_info}

Versions of relevant libraries:
{packages}"""


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
