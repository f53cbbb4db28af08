"""Distributions with parameters: scalars, batches, and batches that broadcast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["CASES", "OF_TRIGAMMA", "SPD", "TRIL", "Case", "as_numpy", "is_wide", "library_value", "narrow"]


class Case(NamedTuple):
    """A class of ``torch.distributions``, and its parameters: numbers stay numbers, lists become tensors."""

    name: str
    parameters: dict[str, Any]
    path: str = ""
    """PyTorch's module of the class, if not ``torch.distributions``."""

    def __str__(self) -> str:
        shapes = (f"{key}{list(np.shape(value)) or ''}" for key, value in self.parameters.items())
        return f"{self.name}({', '.join(shapes)})"

    def tensors(self, T: Any, requires_grad: bool = False) -> dict[str, Any]:
        return {key: library_value(T, value, requires_grad) for key, value in self.parameters.items()}

    def build(self, T: Any, parameters: dict[str, Any] | None = None, **options: Any) -> Any:
        module = T.distributions
        for part in self.path.split("."):
            module = getattr(module, part) if part else module
        return getattr(module, self.name)(**(parameters or self.tensors(T)), **options)


def library_value(T: Any, value: Any, requires_grad: bool = False) -> Any:
    """Lists of floats as float64 tensors of a library; other values as they are."""
    if not isinstance(value, (list, np.ndarray)):
        return value
    array = np.array(value)
    floating = array.dtype.kind == "f"
    dtype = {np.dtype(np.float32): T.float32}.get(array.dtype, T.float64) if floating else T.int64
    return T.tensor(array.tolist(), dtype=dtype, requires_grad=requires_grad and floating)


def as_numpy(tensor: Any) -> Any:
    return np.array(tensor.detach().tolist()).reshape(tuple(tensor.shape))


def is_wide(case: Case) -> bool:
    return not any(getattr(value, "dtype", None) == np.float32 for value in case.parameters.values())


def narrow(case: Case) -> Case:
    """A case in float32."""

    def of(value: Any) -> Any:
        array = np.asarray(value)
        return value if array.ndim == 0 or array.dtype.kind != "f" else array.astype(np.float32)

    return case._replace(parameters={key: of(value) for key, value in case.parameters.items()})


F32 = np.float32
SPD = np.array([[2.0, 0.5, 0.1], [0.5, 1.5, -0.2], [0.1, -0.2, 1.0]])
TRIL = np.array([[1.2, 0.0], [-0.4, 0.8]])
WEIGHTS = [[0.1, 0.2, 0.7], [0.5, 0.5, 3.0]]
NARROW = np.array(WEIGHTS, F32)
LOGITS = [[0.3, -1.2, 2.0], [0.0, 0.4, -0.4]]


def _pairs(name: str, first: str, second: str, positive_first: bool) -> list[Case]:
    """Cases of two parameters: numbers, a batch, broadcasting, float32."""
    a, b = [0.3, 1.7, 4.0], [0.5, 1.1, 2.5]
    low = [0.3, 1.7, 4.0] if positive_first else [-0.7, 0.2, 3.0]
    return [
        Case(name, {first: abs(low[0]) if positive_first else low[0], second: 1.5}),
        Case(name, {first: low, second: b}),
        Case(name, {first: np.array(low)[:, None], second: a}),
        Case(name, {first: 1.25, second: [[0.4], [2.0]]}),
        Case(name, {first: np.array(low, F32), second: np.array(b, F32)}),
    ]


def _events(name: str, path: str = "", **more: Any) -> list[Case]:
    """Cases of a probability or log-odds."""
    return [
        Case(name, {**more, "probs": 0.3}, path),
        Case(name, {**more, "logits": -0.4}, path),
        Case(name, {**more, "probs": [0.1, 0.45, 0.9]}, path),
        Case(name, {**more, "logits": [[-2.0, 0.1], [0.6, 3.0]]}, path),
        Case(name, {**more, "probs": np.array([0.25, 0.6], F32)}, path),
    ]


def _choices(name: str, path: str = "", **more: Any) -> list[Case]:
    """Cases of several weights or logits."""
    return [
        Case(name, {**more, "probs": WEIGHTS[0]}, path),
        Case(name, {**more, "probs": WEIGHTS}, path),
        Case(name, {**more, "logits": LOGITS[0]}, path),
        Case(name, {**more, "logits": [LOGITS, WEIGHTS]}, path),
        Case(
            name, {**{k: np.array(v, F32) if k == "temperature" else v for k, v in more.items()}, "probs": NARROW}, path
        ),
    ]


COUNTED = [
    Case("Binomial", {"total_count": 5, "probs": [0.2, 0.5, 0.9]}),
    Case("Binomial", {"total_count": 40, "logits": [[-1.0, 0.0], [0.5, 2.0]]}),
    Case("Binomial", {"total_count": [3, 8], "probs": [[0.4], [0.7]]}),
    Case("NegativeBinomial", {"total_count": 3.0, "probs": [0.2, 0.5, 0.9]}),
    Case("NegativeBinomial", {"total_count": [0.5, 8.0], "logits": [[-1.0], [0.5]]}),
]
VECTORS = [
    Case("Dirichlet", {"concentration": [0.4, 1.5, 3.0]}),
    Case("Dirichlet", {"concentration": [[0.4, 0.5, 0.2], [9.0, 12.0, 30.0]]}),
    Case("Dirichlet", {"concentration": np.array([2.0, 3.0], F32)}),
    Case("LogisticNormal", {"loc": [0.1, -0.5, 1.0], "scale": [0.5, 1.0, 2.0]}),
    Case("LogisticNormal", {"loc": [[0.1, -0.5], [0.0, 0.0]], "scale": 0.5}),
    Case("LogisticNormal", {"loc": 0.2, "scale": 1.5}),
    Case("MultivariateNormal", {"loc": [0.5, -1.0, 2.0], "covariance_matrix": SPD}),
    Case("MultivariateNormal", {"loc": [0.5, -1.0, 2.0], "precision_matrix": SPD}),
    Case("MultivariateNormal", {"loc": [[0.5, -1.0], [2.0, 0.0], [1.0, 1.0]], "scale_tril": TRIL}),
    Case("MultivariateNormal", {"loc": [0.5, -1.0], "scale_tril": [[TRIL.tolist()], [(2 * TRIL).tolist()]]}),
    Case("LowRankMultivariateNormal", {"loc": [0.5, 1.0], "cov_factor": [[1.0], [0.3]], "cov_diag": [0.5, 2.0]}),
    Case(
        "LowRankMultivariateNormal",
        {
            "loc": [[[0.5, 1.0, 0.0]], [[0.0, 0.0, 2.0]]],
            "cov_factor": [[[1.0, 0.2], [0.3, -0.1], [0.0, 1.0]], [[0.5, 0.0], [1.0, 1.0], [2.0, 0.1]]],
            "cov_diag": [0.5, 2.0, 1.0],
        },
    ),
]
MATRICES = [
    Case("LKJCholesky", {"dim": 3}),
    Case("LKJCholesky", {"dim": 4, "concentration": [0.5, 2.0]}),
    Case("Wishart", {"df": 4.5, "covariance_matrix": SPD}),
    Case("Wishart", {"df": [3.0, 7.0], "precision_matrix": SPD[:2, :2]}),
    Case("Wishart", {"df": [4.0], "scale_tril": [TRIL.tolist(), (3 * TRIL).tolist()]}),
]
CASES: list[Case] = [
    *_pairs("Normal", "loc", "scale", False),
    *_pairs("Laplace", "loc", "scale", False),
    *_pairs("Cauchy", "loc", "scale", False),
    *_pairs("Gumbel", "loc", "scale", False),
    *_pairs("LogNormal", "loc", "scale", False),
    *_pairs("Gamma", "concentration", "rate", True),
    *_pairs("InverseGamma", "concentration", "rate", True),
    *_pairs("Beta", "concentration1", "concentration0", True),
    *_pairs("Kumaraswamy", "concentration1", "concentration0", True),
    *_pairs("Pareto", "scale", "alpha", True),
    *_pairs("Weibull", "scale", "concentration", True),
    *_pairs("FisherSnedecor", "df1", "df2", True),
    *_pairs("VonMises", "loc", "concentration", False),
    Case("Uniform", {"low": 0.5, "high": 2.0}),
    Case("Uniform", {"low": [-1.0, 0.0], "high": [[0.5], [3.0]]}),
    Case("StudentT", {"df": 3.5}),
    Case("StudentT", {"df": [0.8, 1.5, 4.0], "loc": [[0.5], [1.0]], "scale": 2.0}),
    Case("GeneralizedPareto", {"loc": 0.5, "scale": 1.5, "concentration": 0.2}),
    Case(  # PyTorch takes float32 only
        "GeneralizedPareto",
        {
            "loc": np.array([0.0, 1.0], F32),
            "scale": np.array([2.0, 0.5], F32),
            "concentration": np.array([[0.0], [-0.4], [0.7], [1.5]], F32),
        },
    ),
    *(Case(name, {key: 0.8}) for name, key in (("Exponential", "rate"), ("Chi2", "df"), ("Poisson", "rate"))),
    *(Case(name, {key: [[0.5, 3.0], [14.0, 40.0]]}) for name, key in (("Exponential", "rate"), ("Chi2", "df"))),
    Case("Poisson", {"rate": [0.0, 0.5, 8.0, 60.0]}),
    *(Case(name, {"scale": scale}) for name in ("HalfNormal", "HalfCauchy") for scale in (1.5, [0.5, 2.0])),
    *_events("Bernoulli"),
    *_events("Geometric"),
    *_events("ContinuousBernoulli"),
    Case("ContinuousBernoulli", {"probs": [0.4995, 0.5, 0.5005], "lims": (0.48, 0.52)}),
    *_events("RelaxedBernoulli", temperature=[0.7]),
    *_events("LogitRelaxedBernoulli", "relaxed_bernoulli", temperature=[0.7]),
    *_choices("Categorical"),
    *_choices("OneHotCategorical"),
    *_choices("OneHotCategoricalStraightThrough"),
    *_choices("Multinomial", total_count=6),
    *_choices("RelaxedOneHotCategorical", temperature=[0.7]),
    *_choices("ExpRelaxedCategorical", "relaxed_categorical", temperature=[0.7]),
    *COUNTED,
    *VECTORS,
    *MATRICES,
]
OF_TRIGAMMA = {
    *("Gamma", "InverseGamma", "Beta", "Chi2", "FisherSnedecor", "StudentT", "NegativeBinomial", "Dirichlet"),
    *("Kumaraswamy", "LKJCholesky", "Wishart"),
}
"""Derivatives of these have PyTorch's trigamma, of which 9 digits are right: they are compared in float32."""
