"""The base class of distributions: validation, shapes, ``expand``, and the public methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names.docstrings.classes import composed
from nbautograd.distributions import constraints
from nbautograd.distributions.constraint_base import _is_all_true
from nbautograd.distributions.utils import broadcast_all, formula, lazy_property
from nbautograd.errors import warn

__all__ = ["Distribution"]


class Distribution:
    """Base of all distributions.

    A distribution has a batch of parameters, of shape ``batch_shape``; each sample of one of them is an event, of shape
    ``event_shape``. Samples have the shape ``sample_shape + batch_shape + event_shape``.

    A subclass declares the constraints of its parameters, ``arg_constraints``, and of its samples, ``support``.
    It calls ``__init__`` after setting its parameters as attributes, and overrides the methods that it
    supports: ``rsample`` or ``sample``, ``log_prob``, ``mean``, and so on.

    :param batch_shape: the shape of the parameters.
    :param event_shape: the shape of one sample.
    :param validate_args: whether to check parameters and values; by default the setting of
        :meth:`set_default_validate_args`.
    :raises ValueError: a parameter does not satisfy its constraint.

    >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        composed(cls)
        if cls.__module__.startswith("nbautograd.") and "__init__" in vars(cls):
            cls._expandable = cls

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _expandable: ClassVar[type[Distribution] | None] = None
    """The class of ours whose attributes ``expand`` knows; a subclass with an ``__init__`` may have more."""
    _derived: ClassVar[tuple[str, ...]] = ()
    """Further attributes that are tensors of the batch's shape, computed from the parameters."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments by default.

        :raises ValueError: the value is not a bool.

        >>> import nbautograd as torch
        >>> torch.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in [True, False]:
            raise ValueError(f"set_default_validate_args(): value must be True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Size | None = None, event_shape: Size | None = None, validate_args: bool | None = None
    ) -> None:
        self._batch_shape = Size() if batch_shape is None else batch_shape
        self._event_shape = Size() if event_shape is None else event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _declare(self, validate_args: bool | None, **parameters: Any) -> None:
        """Store the parameters of elementwise distributions, numbers or tensors, broadcast to the batch's shape."""
        values = broadcast_all(*parameters.values())
        vars(self).update(zip(parameters, values, strict=True))
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    def _check_parameters(self) -> None:
        try:
            declared = self.arg_constraints
        except NotImplementedError:
            warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return
        for name, constraint in declared.items():
            if constraints.is_dependent(constraint) or name not in vars(self) and self._is_lazy(name):
                continue
            value = getattr(self, name)
            if not _is_all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _is_lazy(self, name: str) -> bool:
        return isinstance(getattr(type(self), name, None), lazy_property)

    # -- shapes --------------------------------------------------------------------------------------------------------

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Return the distribution with its parameters expanded to ``batch_shape``, without copying memory.

        :raises NotImplementedError: a subclass defines ``__init__`` but not ``expand``.

        >>> torch.distributions.Normal(0.0, 1.0).expand([2]).mean
        tensor([0., 0.])
        """
        if self._expandable is None:
            raise NotImplementedError
        new = self._get_checked_instance(self._expandable, _instance)
        batch_shape = Size(batch_shape)
        for name, value in vars(self).items():
            if name in vars(new) or self._is_lazy(name) and name not in self.arg_constraints:
                continue
            setattr(new, name, self._expanded(name, value, batch_shape))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        """Return an attribute of the expanded distribution: expand parameters and inner distributions."""
        if isinstance(value, Distribution):
            return value.expand(batch_shape + value._batch_shape[len(self._batch_shape) :])
        if name in self.arg_constraints or name in self._derived:
            return value.expand(batch_shape + value.shape[len(self._batch_shape) :])
        return value

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        """Return the shape of a tensor of samples."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _made(self, make: Callable[..., Tensor], sample_shape: Sequence[int], like: Tensor) -> Tensor:
        """Return a new tensor for samples, made by a function such as ``rand``, in the dtype of another."""
        return make(self._extended_shape(sample_shape), dtype=like.dtype, device=like.device)

    # -- declarations --------------------------------------------------------------------------------------------------

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraints of the parameters, by name."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint | None:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    # -- moments -------------------------------------------------------------------------------------------------------

    @property
    def mean(self) -> Tensor:
        """The mean; NaN where it does not exist."""
        return self._mean()

    @property
    def mode(self) -> Tensor:
        """The mode, where the density is greatest; NaN where it does not exist."""
        return self._mode()

    @property
    def variance(self) -> Tensor:
        """The variance; of vectors and matrices, that of each element."""
        return self._variance()

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, the square root of the variance."""
        return self._stddev()

    _stddev = formula(lambda d: d.variance.sqrt())

    def _mode(self) -> Tensor:
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    # -- samples -------------------------------------------------------------------------------------------------------

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draw samples, of shape ``sample_shape + batch_shape + event_shape``, without gradients.

        >>> _ = torch.manual_seed(0)
        >>> torch.distributions.Normal(0.0, 1.0).sample((2,))
        tensor([ 1.5410, -0.2934])
        """
        with no_grad():
            return self._sample(Size(sample_shape))

    _sample = formula(lambda d, shape: d.rsample(shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draw samples through which gradients flow to the parameters (reparameterized samples).

        :raises NotImplementedError: the distribution does not support it: ``has_rsample`` is False.

        >>> scale = torch.tensor(2.0, requires_grad=True)
        >>> torch.distributions.Normal(0.0, scale).rsample().requires_grad
        True
        """
        return self._rsample(Size(sample_shape))

    def sample_n(self, n: int) -> Tensor:
        """Draw ``n`` samples; deprecated, use ``sample((n,))``.

        >>> torch.distributions.Normal(0.0, 1.0).sample((3,)).shape
        torch.Size([3])
        """
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    # -- probabilities -------------------------------------------------------------------------------------------------

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at ``value``.

        :raises ValueError: arguments are validated, and ``value`` is not in the support.

        >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-0.9189)
        """
        if self._validate_args:
            self._validate_sample(value)
        return self._log_prob(value)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the cumulative distribution function: the probability of a sample of at most ``value``.

        :raises ValueError: arguments are validated, and ``value`` is not in the support.

        >>> torch.distributions.Normal(0.0, 1.0).cdf(torch.tensor(0.0))
        tensor(0.5000)
        """
        if self._validate_args and type(self)._cdf is not Distribution._cdf:
            self._validate_sample(value)
        return self._cdf(value)

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile function, the inverse of :meth:`cdf`.

        >>> torch.distributions.Normal(0.0, 1.0).icdf(torch.tensor(0.5))
        tensor(0.)
        """
        return self._icdf(value)

    def entropy(self) -> Tensor:
        """Return the entropy, in nats, of shape ``batch_shape``.

        >>> torch.distributions.Normal(0.0, 1.0).entropy()
        tensor(1.4189)
        """
        return self._entropy()

    def perplexity(self) -> Tensor:
        """Return ``exp(entropy)``.

        >>> torch.distributions.Categorical(torch.ones(6)).perplexity()
        tensor(6.0000)
        """
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution, along the first dimension.

        :param expand: repeat them over the batch; otherwise its dimensions have size 1.
        :raises NotImplementedError: the distribution is not discrete and finite.

        >>> torch.distributions.Bernoulli(0.3).enumerate_support()
        tensor([0., 1.])
        """
        values = self._values()
        count, batch, event = values.shape[:1], self._batch_shape, self._event_shape
        values = values.view(count + (1,) * len(batch) + event)
        return values.expand(count + batch + event) if expand else values

    def _missing(self, *arguments: Any) -> Any:
        raise NotImplementedError

    _mean = _variance = _rsample = _log_prob = _cdf = _icdf = _entropy = _missing
    _values = _missing
    """The support of a discrete distribution, along the first dimension."""

    def _validate_sample(self, value: Any) -> None:
        """Check that a value has the right shape and is in the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, expected = value.shape, self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        if any(1 != i != j != 1 for i, j in zip(reversed(shape), reversed(expected), strict=False)):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation."
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not _is_all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        kept = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        texts = [f"{name}: {value if value.numel() == 1 else value.shape}" for name, value in kept.items()]
        return f"{self.__class__.__name__}({', '.join(texts)})"
