"""``torch.utils.tensorboard``: files for TensorBoard, written by ``tensorboardX`` or else by ``tensorboard``.

The import needs one of them, as PyTorch's needs the latter.
"""

from __future__ import annotations

import io
import os
import platform
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NoReturn

import numpy as np

from nbautograd._engine.base.installing import command
from nbautograd._engine.core.pytree import tree_map
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names import absent

__all__ = ["SummaryWriter"]


def _backend() -> Callable[..., Any]:
    """Return the writer class."""
    try:
        from tensorboardX import SummaryWriter as Writer
    except ModuleNotFoundError:
        pass
    else:
        return Writer  # type: ignore[no-any-return]
    try:
        import tensorboard.summary.writer.event_file_writer  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "nbautograd writes files for TensorBoard by tensorboardX, which can write everything, or by tensorboard, "
            "which can write scalars, histograms, texts and images; neither is installed: "
            f"{command('tensorboardX')}",
            name="tensorboard",
        ) from None
    return _Events


def _plain(value: Any) -> Any:
    """Convert the tensors in a value to NumPy arrays."""
    return tree_map(lambda leaf: leaf.detach().cpu().numpy() if isinstance(leaf, Tensor) else leaf, value)


class SummaryWriter:
    """A writer of scalars, images, histograms and more into files for TensorBoard.

    It has the methods of tensorboardX's ``SummaryWriter``, or, if only tensorboard is installed, ``add_scalar``,
    ``add_scalars``, ``add_histogram``, ``add_text``, ``add_image`` and ``add_images``; tensors are converted.

    :param log_dir: the folder; by default below ``runs``, named by the time, the computer and the comment.
    :param comment: the end of the default name.
    :param purge_step: hide data that was written for this step and later ones.
    :param max_queue: the maximum number of unwritten items.
    :param flush_secs: the maximum seconds before writing.
    :param filename_suffix: the end of the file names.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{platform.node()}{comment}")
        self.log_dir = str(log_dir)
        options = {"max_queue": max_queue, "flush_secs": flush_secs, "filename_suffix": filename_suffix}
        self._writer = _WRITER(self.log_dir, purge_step=purge_step, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._writer, name)
        if not name.startswith("add_"):
            return method

        def add(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop("new_style", None), kwargs.pop("double_precision", None)  # of PyTorch's add_scalar
            return method(*_plain(args), **_plain(kwargs))

        return add

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, **_: Any) -> NoReturn:
        """Raise: graphs for TensorBoard are not supported.

        :raises NotImplementedError: always.
        """
        raise NotImplementedError(
            "nbautograd has no graph of a whole model for TensorBoard, which PyTorch gets by compilation: "
            "nbautograd.viz.draw(model(x)) draws it"
        )

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.log_dir

    def flush(self) -> None:
        """Write all pending items."""
        self._writer.flush()

    def close(self) -> None:
        """Write all pending items, and close the files."""
        self._writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _Events:
    """A writer of events with tensorboard's own classes."""

    def __init__(self, log_dir: str, purge_step: int | None = None, **options: Any) -> None:
        self.log_dir, self.options = log_dir, options
        self.files: dict[str, Any] = {}
        if purge_step is not None:
            self._add({"file_version": "brain.Event:2"}, purge_step, None)
            self._add({"session_log": {"status": 1}}, purge_step, None)

    def _file(self, folder: str) -> Any:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        if folder not in self.files:
            options = dict(self.options)
            arguments = (options["max_queue"], options["flush_secs"], options["filename_suffix"])
            self.files[folder] = EventFileWriter(folder, *arguments)
        return self.files[folder]

    def _add(self, event: Mapping[str, Any], step: Any, walltime: float | None, folder: str | None = None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        where = Event(wall_time=time.time() if walltime is None else walltime, **event)
        if step is not None:
            where.step = int(step)
        self._file(folder or self.log_dir).add_event(where)

    def _value(self, value: Mapping[str, Any], step: Any, walltime: float | None, folder: str | None = None) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._add({"summary": Summary(value=[Summary.Value(**value)])}, step, walltime, folder)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        self._value({"tag": tag, "simple_value": float(np.squeeze(scalar_value))}, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: Any = None
    ) -> None:
        for tag, number in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            self._value({"tag": main_tag, "simple_value": float(np.squeeze(number))}, global_step, walltime, folder)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: Any = None, **_: Any
    ) -> None:
        from tensorboard.compat.proto.summary_pb2 import HistogramProto

        numbers = np.asarray(values, dtype=np.float64).reshape(-1)
        if not numbers.size:
            raise ValueError("The input has no element.")
        counts, edges = np.histogram(numbers, _edges() if isinstance(bins, str) and bins == "tensorflow" else bins)
        full = np.flatnonzero(counts)
        first, last = full[0], full[-1] + 1
        histogram = HistogramProto(
            min=numbers.min(), max=numbers.max(), num=numbers.size, sum=numbers.sum(), sum_squares=numbers @ numbers,
            bucket_limit=edges[first : last + 1].tolist(), bucket=[0.0, *counts[first:last].tolist()],
        )  # fmt: skip
        self._value({"tag": tag, "histo": histogram}, global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: Any = None) -> None:
        from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

        about = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        text = TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=shape)
        self._value({"tag": f"{tag}/text_summary", "metadata": about, "tensor": text}, global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: Any = None, dataformats: str = "CHW"
    ) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        pixels = _pixels(np.asarray(img_tensor), dataformats)
        height, width, colors = pixels.shape
        image = Summary.Image(height=height, width=width, colorspace=colors, encoded_image_string=_png(pixels))
        self._value({"tag": tag, "image": image}, global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: Any = None, dataformats: str = "NCHW"
    ) -> None:
        images = np.moveaxis(np.asarray(img_tensor), dataformats.upper().index("N"), 0)
        layout = dataformats.upper().replace("N", "")
        row = np.concatenate([_pixels(image, layout) for image in images], 1)
        self.add_image(tag, row, global_step, walltime, "HWC")

    def flush(self) -> None:
        for file in self.files.values():
            file.flush()

    def close(self) -> None:
        for file in self.files.values():
            file.close()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"SummaryWriter.{name} needs tensorboardX: {command('tensorboardX')}")


def _edges() -> Any:
    """Return the limits of buckets that grow by a tenth, in both directions."""
    ladder = 1e-12 * 1.1 ** np.arange(np.ceil(np.log(1e32) / np.log(1.1)))
    return np.concatenate([-ladder[::-1], [0.0], ladder])


def _pixels(image: Any, layout: str) -> Any:
    """Return an image as bytes of shape height, width and colors; floats are from 0 to 1."""
    letters = layout.upper()
    if len(letters) != image.ndim or not {*letters} <= {*"CHW"}:
        raise ValueError(f"an image of the format {layout!r} does not have the shape {image.shape}")
    if "C" not in letters:
        image, letters = image[..., None], letters + "C"
    image = image.transpose([letters.index(letter) for letter in "HWC"])
    if image.dtype != np.uint8:
        image = (image.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    return image if image.shape[2] != 1 else image.repeat(3, 2)


def _png(pixels: Any) -> bytes:
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"images need Pillow: {command('pillow')}", name="PIL") from error
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    return stream.getvalue()


_WRITER = _backend()
absent.answer(__name__)
