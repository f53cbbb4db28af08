import gpytorch
import torch
from gpytorch import kernels
from gpytorch.distributions import MultivariateNormal

from tests.parity.guests.parts import gradients, part, random, trained


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), kernels.ScaleKernel(kernel)

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Inducing(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        strategy = gpytorch.variational.VariationalStrategy(
            self, points, gpytorch.variational.CholeskyVariationalDistribution(len(points))
        )
        super().__init__(strategy)
        self.mean_module = gpytorch.means.LinearMean(points.shape[1])
        self.covar_module = kernels.ScaleKernel(kernels.RBFKernel())

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


def data():
    x = torch.linspace(0, 1, 20).unsqueeze(-1)
    return x, (6 * x[:, 0]).sin() + 0.1 * random(20)


def exact(kernel):
    x, y = data()
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    return x, y, likelihood, Exact(x, y, likelihood, kernel)


@part
def covariances():
    torch.set_default_dtype(torch.float64)
    x, y = random(5, 2, grad=True), random(4, 2)
    chosen = [kernels.RBFKernel(ard_num_dims=2), kernels.MaternKernel(1.5), kernels.PeriodicKernel()]
    chosen += [
        kernels.RQKernel(),
        kernels.LinearKernel(),
        kernels.PolynomialKernel(2),
        kernels.RBFKernel() * kernels.MaternKernel(),
    ]
    values = {str(place): kernel(x, y).to_dense() for place, kernel in enumerate(chosen)}
    return gradients(sum(value.sum() for value in values.values()), x) | values


@part
def marginal_likelihood():
    x, y, likelihood, model = exact(kernels.RBFKernel())
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    return gradients(-mll(model(x), y), model)


@part
def regression():
    x, y, likelihood, model = exact(kernels.MaternKernel(2.5))
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    result = trained(model, lambda: -mll(model(x), y), lambda p: torch.optim.Adam(p, lr=0.1), steps=5)
    model.eval(), likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        predicted = likelihood(model(torch.linspace(0, 1.2, 7)))
    return result | {"mean": predicted.mean, "variance": predicted.variance, "region": predicted.confidence_region()}


@part
def samples():
    torch.set_default_dtype(torch.float64)
    x, _, _, model = exact(kernels.RBFKernel())
    model.eval()
    predicted = model(x[::4] + 0.01)
    return {"samples": predicted.rsample(torch.Size([3])), "log_prob": predicted.log_prob(torch.zeros(5))}


@part
def variational():
    x, y = data()
    model, likelihood = Inducing(x[::4].clone()), gpytorch.likelihoods.GaussianLikelihood()
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20)
    return trained(model, lambda: -elbo(model(x), y), lambda p: torch.optim.Adam(p, lr=0.05), steps=4)


@part
def classification():
    x, y = data()
    model, likelihood = Inducing(x[::4].clone()), gpytorch.likelihoods.BernoulliLikelihood()
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20)
    result = trained(model, lambda: -elbo(model(x), (y > 0).float()), steps=4)
    return result | {"probabilities": likelihood(model.eval()(x)).mean}


@part
def several_outputs():
    x = torch.linspace(0, 1, 12)
    kernel = kernels.MultitaskKernel(kernels.RBFKernel(), num_tasks=2, rank=1)
    mean = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
    prior = gpytorch.distributions.MultitaskMultivariateNormal(mean(x), kernel(x).add_jitter(1e-2))
    return gradients(-prior.log_prob(torch.stack([x.sin(), x.cos()], -1)), kernel)
