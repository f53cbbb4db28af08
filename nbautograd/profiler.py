"""``torch.profiler``: the time of each operation, and of each part of a program."""

from __future__ import annotations

import enum
import os
import platform
import time
from collections.abc import Callable, Iterable
from typing import Any

from nbautograd._names import absent
from nbautograd.autograd import profiler as autograd_profiler
from nbautograd.autograd.profiler import record_function
from nbautograd.autograd.profiler_recording import cuda_is_usable
from nbautograd.autograd.profiler_util import DeviceType, EventList
from nbautograd.errors import warn

__all__ = [
    "DeviceType", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """An activity to record.

    :param value: the number of the member.
    :returns: the member.
    :raises ValueError: no member has that number.

    >>> ProfilerActivity(0).name
    'CPU'
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """The action of a profiler in a step.

    :param value: the number of the member.
    :returns: the member.
    :raises ValueError: no member has that number.

    >>> ProfilerAction(3).name
    'RECORD_AND_SAVE'
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be recorded: the CPU, and CUDA if available.

    :returns: a set.

    >>> ProfilerActivity.CPU in supported_activities()
    True
    """
    return {ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * cuda_is_usable()}


def kineto_available() -> bool:
    """Return False: PyTorch's library for traces is not available.

    :returns: a Python bool.

    >>> kineto_available()
    False
    """
    return False


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a schedule of steps: in each cycle wait, warm up, and record.

    :param wait: unrecorded steps at the beginning of each cycle.
    :param warmup: unrecorded steps after them.
    :param active: recorded steps; the last one calls ``on_trace_ready``.
    :param repeat: the number of cycles; 0 for no limit.
    :param skip_first: steps before the first cycle.
    :param skip_first_wait: unless 0, the first cycle does not wait.
    :returns: a function from the number of a step to a :class:`ProfilerAction`.
    :raises AssertionError: a number is negative, or ``active`` is 0.

    >>> plan = schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0), "
            f"skip_first_wait={skip_first_wait} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first - (wait if skip_first_wait else 0)
        if step < (wait if skip_first_wait else 0) or repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        within = step % cycle
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if within == cycle - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """Return an ``on_trace_ready`` that writes a file per trace, with names for TensorBoard.

    :param dir_name: the folder, which is created.
    :param worker_name: the beginning of the names; by default the computer and the process.
    :param use_gzip: compress the files.
    :param use_python_export: has no effect.
    :returns: a function of a profiler, which writes the file.
    :raises RuntimeError: the folder cannot be created.

    >>> import os, tempfile
    >>> import nbautograd as torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, "worker")):
    ...         y = torch.ones(2) * 2
    ...     names = os.listdir(folder)
    >>> len(names), names[0].endswith(".pt.trace.json")
    (1, True)
    """

    def write(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{platform.node()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile:  # noqa: N801 - PyTorch's name
    """A recorder of the operations in its ``with`` block, step by step if it has a schedule.

    It records operations, as ``aten::`` and their names, nodes of backward passes, steps of optimizers, batches of data
        loaders, and blocks of ``record_function``; composite functions appear as their operations.

    :param activities: the activities to record; with ``ProfilerActivity.CUDA`` also times on the device.
    :param schedule: maps the number of a step to its action; see :func:`schedule`.
    :param on_trace_ready: called with the profiler after each recorded cycle.
    :param record_shapes: record the shapes of the arguments.
    :param profile_memory: count the bytes of results.
    :param with_stack: record the lines of the calls.
    :param with_flops: count floating-point operations.
    :param with_modules: has no effect; for TorchScript in PyTorch.
    :param experimental_config: has no effect.
    :param execution_trace_observer: has no effect.
    :param acc_events: keep the events of all cycles, not only those of the last one.
    :param use_cuda: deprecated: use ``activities``.
    :param custom_trace_id_callback: has no effect.
    :param post_processing_timeout_s: has no effect.
    :returns: a context manager whose ``key_averages()`` returns the sums and ``events()`` the events.
    :raises RuntimeError: another profiler runs.

    >>> import nbautograd as torch
    >>> model, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    >>> with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    ...     with record_function("forward"):
    ...         loss = model(x).relu().sum()
    ...     loss.backward()
    >>> [(event.key, event.count) for event in prof.key_averages()][:3]
    [('forward', 1), ('aten::t', 1), ('aten::addmm', 1)]
    >>> print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=5))  # doctest: +ELLIPSIS
    ----...
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set(supported_activities() if activities is None else activities)
        if use_cuda is not None:
            warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning)
            change = self.activities.add if use_cuda else self.activities.discard
            change(ProfilerActivity.CUDA)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.use_device = "cuda" if ProfilerActivity.CUDA in self.activities else None
        self.record_shapes, self.with_flops, self.with_modules = record_shapes, with_flops, with_modules
        self.profile_memory, self.with_stack, self.acc_events = profile_memory, with_stack, acc_events
        self.has_schedule = schedule is not None
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn: record_function | None = None
        self.profiler: autograd_profiler.profile | None = None
        self.preset_metadata: dict[str, str] = {}
        self._earlier: list[Any] = []

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start with the first step."""
        if self.current_action in RECORDING:
            self.start_trace()
        self._begin_step()

    def stop(self) -> None:
        """Stop; the current recording is ready."""
        self._end_step()
        if self.current_action in RECORDING:
            self._finish()

    def step(self) -> None:
        """Finish a step of the schedule, and begin the next one."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        ends = before is ProfilerAction.RECORD_AND_SAVE
        if before is ProfilerAction.RECORD and self.current_action not in RECORDING:
            warn("Incorrect schedule: RECORD followed by " + self.current_action.name)
            self.stop_trace()
        elif before is ProfilerAction.WARMUP and self.current_action is ProfilerAction.NONE:
            warn("Incorrect schedule: WARMUP followed by NONE")
        if ends:
            self._finish()
        if self.current_action in RECORDING and (ends or before not in RECORDING):
            self.start_trace()
        self._begin_step()

    def _begin_step(self) -> None:
        if self.has_schedule:
            self.step_rec_fn = record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _finish(self) -> None:
        self.stop_trace()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def prepare_trace(self) -> None:
        """Do nothing: no warm-up is needed."""

    def start_trace(self) -> None:
        """Start recording."""
        if self.acc_events and self.profiler is not None:
            self._earlier += self.profiler.function_events
        self.profiler = autograd_profiler.profile(
            use_device=self.use_device, record_shapes=self.record_shapes, with_flops=self.with_flops,
            profile_memory=self.profile_memory, with_stack=self.with_stack,
        )  # fmt: skip
        self.profiler.start()

    def stop_trace(self) -> None:
        """Stop recording."""
        self._recorded("stopping the trace").stop()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity] | None = None) -> None:
        """Pause or resume recording."""
        if self.profiler is not None:
            self.profiler.pause(not enable)

    def _recorded(self, what: str) -> autograd_profiler.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def events(self) -> EventList:
        """Return the events, in order of their start.

        :raises AssertionError: nothing has been recorded.
        """
        profiler = self._recorded("accessing events")
        return profiler.listed([*self._earlier, *profiler.function_events])

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return the events summed by name, and by shapes or by lines of calls; see ``EventList.key_averages``.

        :raises AssertionError: nothing has been recorded.
        """
        self._recorded("getting key averages")
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        """Write the last recording as a trace for ``chrome://tracing`` and Perfetto.

        :param path: the file; compressed if its name ends with ``.gz``.
        """
        self._recorded("exporting chrome trace").export_chrome_trace(path, self.preset_metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a file for flame graphs; requires ``with_stack``.

        :param metric: ``self_cpu_time_total`` or ``self_cuda_time_total``.
        """
        self._recorded("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Write an entry into the trace."""
        self.preset_metadata[key] = value

    add_metadata_json = preset_metadata_json = add_metadata


absent.answer(__name__)
