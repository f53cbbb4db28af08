"""The exceptions that the library raises: each is also what PyTorch raises in that place, so either name catches it."""

from __future__ import annotations

__all__ = [
    "AutogradError",
    "CudaUnavailableError",
    "DeviceError",
    "DtypeError",
    "GraphFreedError",
    "InplaceError",
    "NbautogradError",
    "ShapeError",
]


class NbautogradError(Exception):
    """Base of everything raised by nbautograd on purpose."""


class ShapeError(NbautogradError, RuntimeError):
    """Shapes do not fit each other or the operation."""


class DtypeError(NbautogradError, RuntimeError):
    """A dtype that the operation does not take."""


class DeviceError(NbautogradError, RuntimeError):
    """Tensors on different devices met, or a device does not exist."""


class CudaUnavailableError(DeviceError, AssertionError):
    """CUDA was asked for and cannot be had; the message says what is missing and the command that installs it."""


class AutogradError(NbautogradError, RuntimeError):
    """A backward pass cannot be run as asked."""


class GraphFreedError(AutogradError):
    """A node's saved tensors are gone: its graph has been run backward before."""


class InplaceError(AutogradError):
    """An in-place write that would make, or has made, a gradient wrong."""
