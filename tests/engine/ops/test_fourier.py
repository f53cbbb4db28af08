"""Test Fourier transforms and windows: properties that hold for all numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from tests import oracle


@st.composite
def transforms(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """A signal, a window and other arguments of a short-time transform whose windows cover every element."""
    n = draw(st.integers(4, 12))
    size = draw(st.integers(2, n))
    hop = draw(st.integers(1, max(1, size // 2)))
    length = draw(st.integers(n, 40))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    signal = rng.standard_normal((*draw(st.sampled_from([(), (2,)])), length))
    options: dict[str, Any] = {"n_fft": n, "hop_length": hop, "win_length": size}
    window = rng.uniform(0.2, 1, size)
    options["normalized"] = draw(st.booleans())
    if draw(st.booleans()):
        signal = signal + 1j * rng.standard_normal(signal.shape)
        options["onesided"] = False
    elif draw(st.booleans()):
        options["onesided"] = draw(st.booleans())
    return signal, window, options


@settings(max_examples=60)
@given(transforms(), st.sampled_from(["reflect", "constant", "replicate", "circular"]))
def test_istft_inverts_stft(drawn: tuple[np.ndarray, np.ndarray, dict[str, Any]], pad_mode: str) -> None:
    signal, window, options = drawn
    # The pieces end at the last hop that fits into the continued signal; the rest is undefined.
    covered = signal.shape[-1] // options["hop_length"] * options["hop_length"]

    def there_and_back(signal: np.ndarray, window: np.ndarray) -> np.ndarray:
        x, w = nb.tensor(signal), nb.tensor(window)
        spectrum = nb.stft(x, **options, window=w, pad_mode=pad_mode, return_complex=True)
        return nb.istft(spectrum, **options, window=w, length=covered, return_complex=x.is_complex()).numpy()

    oracle.agree(lambda signal, window: signal[..., :covered], there_and_back, signal, window)


@settings(max_examples=40)
@given(
    st.sampled_from(["fft", "rfft", "ihfft", "fft2", "rfft2", "ihfft2", "fftn", "rfftn", "ihfftn"]),
    st.sampled_from([None, "backward", "ortho", "forward"]),
    st.lists(st.integers(2, 6), min_size=2, max_size=3),
)
def test_transforms_and_their_inverses(name: str, norm: str | None, shape: list[int]) -> None:
    inverse = name[1:] if name.startswith("i") else "i" + name
    several = {"s": shape[-2:] if "2" in name else shape} if name[-1] in "2n" else {"n": shape[-1]}

    def there_and_back(x: np.ndarray) -> np.ndarray:
        transformed = getattr(nb.fft, name)(nb.tensor(x), norm=norm)
        return nb.real(getattr(nb.fft, inverse)(transformed, norm=norm, **several)).numpy()

    oracle.agree(lambda x: x, there_and_back, np.random.default_rng(0).standard_normal(shape))


@pytest.mark.parametrize("kind", [nb.float32, nb.float64, nb.complex64, nb.complex128])
def test_precision_is_kept(kind: nb.dtype) -> None:
    x = nb.ones(4, 4, dtype=kind)
    assert nb.fft.fft(x).dtype == nb.fft.fftn(x).dtype == kind.to_complex()
    assert nb.fft.irfft(x).dtype == nb.fft.hfftn(x).dtype == kind.to_real()


def test_the_transform_of_integers_is_in_the_default_precision() -> None:
    assert nb.fft.fft(nb.arange(4)).dtype == nb.complex64
    assert nb.fft.rfft(nb.ones(4, dtype=nb.bool)).dtype == nb.complex64


def test_a_rectangular_window_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="window was not provided"):
        spectrum = nb.stft(nb.arange(16.0), 4, return_complex=True)
    with pytest.warns(UserWarning, match="window was not provided"):
        nb.istft(spectrum, 4)


def test_split_results_are_deprecated() -> None:
    with pytest.warns(UserWarning, match="return_complex=False is deprecated"):
        found = nb.stft(nb.arange(16.0), 4, window=nb.ones(4), return_complex=False)
    assert found.shape == (3, 17, 2)


def test_what_no_piece_reaches_is_zero() -> None:
    def there_and_back(ones: np.ndarray) -> np.ndarray:
        window = nb.tensor(ones[:4])
        spectrum = nb.stft(nb.tensor(ones), 4, window=window, return_complex=True)
        with pytest.warns(UserWarning, match="shorter than the length"):
            return nb.istft(spectrum, 4, window=window, length=22).numpy()

    oracle.agree(
        lambda ones: np.concatenate([ones[:1].repeat(18), np.zeros(4, ones.dtype)]), there_and_back, np.ones(16)
    )


@pytest.mark.parametrize("name", nb.signal.windows.__all__)
def test_windows_are_symmetric_or_periodic(name: str) -> None:
    options = {"general_cosine": {"a": [0.4, 0.5, 0.1]}}.get(name, {})
    window = getattr(nb.signal.windows, name)

    def program(T: Any) -> Any:
        make = getattr(T.signal.windows, name)
        symmetric = make(9, dtype=T.float64, **options)
        return symmetric, symmetric.flip(0), symmetric[:-1], make(8, sym=False, dtype=T.float64, **options)

    symmetric, _, _, periodic = oracle.check(program)
    oracle.close((symmetric, symmetric, periodic, periodic), oracle.answer(program))
    assert window(0, **options).shape == (0,)
    assert window(1, **options).tolist() == [1.0]
