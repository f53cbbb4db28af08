"""Cases: Fourier transforms. Complex results are seen as real ones, by which the tests' cotangents are real."""

from __future__ import annotations

from typing import Any

from tests.engine.ops.cases.case import Case, case


def parts(T: Any, found: Any) -> Any:
    """A complex result as a real one."""
    return T.cat([T.real(found), T.imag(found)]) if found.is_complex() else found


def window(T: Any, n: int) -> Any:
    return T.tensor([0.3 + 0.1 * (k % 5) for k in range(n)], dtype=T.float64)


def fft(name: str, *shape: int, **options: Any) -> Case:
    """A transform of a real signal, with a real result or the real view of one."""

    def call(T: Any, x: Any) -> Any:
        found = getattr(T.fft, name)(x, **options)
        return parts(T, found)

    text = "".join(f" {key}={value}" for key, value in options.items())
    return case(f"fft.{name}{text} of {list(shape)}", call, shape)


def complex_fft(name: str, *shape: int, **options: Any) -> Case:
    """Return the case of a complex signal, built from real and imaginary part."""

    def call(T: Any, x: Any) -> Any:
        found = getattr(T.fft, name)(T.view_as_complex(x), **options)
        return parts(T, found)

    text = "".join(f" {key}={value}" for key, value in options.items())
    return case(f"fft.{name}{text} of complex {list(shape)}", call, (*shape, 2))


ONE = ("fft", "ifft", "rfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "ihfftn")

CASES = [
    *(fft(name, 2, 5) for name in ONE),
    *(fft(name, 4, 3, n=n, dim=0, norm="ortho") for name in (*ONE, "irfft", "hfft") for n in (2, 5)),
    *(complex_fft(name, 2, 4, norm="forward") for name in ("fft", "ifft", "irfft", "hfft")),
    *(complex_fft(name, 4, n=7) for name in ("fft", "ifft", "irfft", "hfft")),
    *(fft(name, 2, 3, 4) for name in (*SEVERAL, "irfftn", "hfftn")),
    *(fft(name, 2, 3, 4, s=(3, 3), dim=(2, 0), norm="forward") for name in (*SEVERAL, "irfftn", "hfftn")),
    *(complex_fft(name, 3, 4, s=(4, 5), norm="ortho") for name in ("fftn", "ifftn", "irfftn", "hfftn")),
    *(fft(name, 2, 3, 4) for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")),
    fft("fftshift", 3, 4),
    fft("ifftshift", 3, 5, dim=1),
    *(
        case(
            f"stft {mode}",
            lambda T, x, mode=mode: parts(T, T.stft(x, 6, 2, window=window(T, 6), pad_mode=mode, return_complex=True)),
            (2, 9),
        )
        for mode in ("reflect", "constant", "replicate", "circular")
    ),
    case(
        "stft window",
        lambda T, x, w: parts(
            T, T.stft(x, 6, 4, 5, w, center=False, normalized=True, onesided=False, return_complex=True)
        ),
        (2, 11),
        (5,),
    ),
    case(
        "stft align_to_window",
        lambda T, x: parts(
            T, T.stft(x, 7, 2, 4, window(T, 4), center=False, align_to_window=True, return_complex=True)
        ),
        (9,),
    ),
    case(
        "istft",
        lambda T, x, w: T.istft(T.view_as_complex(x), 6, 2, window=w, normalized=True),
        (2, 4, 5, 2),
        (6,),
        low=0.3,
    ),
    case(
        "istft length",
        lambda T, x: T.istft(T.view_as_complex(x), 5, 3, window=window(T, 5), onesided=False, length=11).sum(0),
        (5, 5, 2),
    ),
    case(
        "istft complex",
        lambda T, x: parts(
            T, T.istft(T.view_as_complex(x), 4, 3, window=window(T, 4), center=False, return_complex=True)
        ),
        (4, 3, 2),
    ),
]
