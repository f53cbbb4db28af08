import pyro
import pyro.distributions as dist
import torch
from pyro import poutine
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, TraceMeanField_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDiagonalNormal, AutoMultivariateNormal, AutoNormal

from tests.parity.guests.parts import part, random


def regression(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 1.0).expand([x.shape[1]]).to_event(1))
    noise = pyro.sample("noise", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("obs", dist.Normal(x @ slope, noise), obs=y)


def fitted(model, guide, loss, *data, steps=5):
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), loss)
    losses = [svi.step(*data) for _ in range(steps)]
    store = pyro.get_param_store()
    return {"losses": losses, **{name: store[name] for name in store}}


def data():
    pyro.clear_param_store()
    x = random(20, 3)
    return x, x @ torch.tensor([1.0, -2.0, 0.5])


@part
def traces():
    x, y = data()
    trace = poutine.trace(poutine.condition(regression, {"noise": torch.tensor(0.7)})).get_trace(x, y)
    return {"log_prob": trace.log_prob_sum(), "slope": trace.nodes["slope"]["value"]}


@part
def mean_field():
    return fitted(regression, AutoNormal(regression), TraceMeanField_ELBO(), *data())


@part
def full_covariance():
    return fitted(regression, AutoMultivariateNormal(regression), Trace_ELBO(num_particles=2), *data())


@part
def predictions():
    x, y = data()
    guide = AutoDiagonalNormal(regression)
    result = fitted(regression, guide, Trace_ELBO(), x, y, steps=2)
    return result | Predictive(regression, guide=guide, num_samples=4)(x[:2])


@part
def enumerated_mixture():
    pyro.clear_param_store()

    @config_enumerate
    def mixture(values):
        weights = pyro.param("weights", torch.ones(2) / 2, constraint=dist.constraints.simplex)
        means = pyro.param("means", torch.tensor([-1.0, 2.0]))
        with pyro.plate("data", len(values)):
            which = pyro.sample("which", dist.Categorical(weights))
            pyro.sample("obs", dist.Normal(means[which], 1.0), obs=values)

    return fitted(mixture, lambda values: None, TraceEnum_ELBO(max_plate_nesting=1), random(20))


@part
def monte_carlo():
    torch.set_default_dtype(torch.float64)
    pyro.clear_param_store()
    x = random(20, 2)
    mcmc = MCMC(NUTS(regression), num_samples=3, warmup_steps=3, disable_progbar=True)
    mcmc.run(x, x @ torch.tensor([1.0, -1.0]))
    return mcmc.get_samples()


@part
def flows():
    base = dist.Normal(torch.zeros(3), torch.ones(3)).to_event(1)
    spline, autoregressive = dist.transforms.spline(3, count_bins=4), dist.transforms.affine_autoregressive(3)
    flow = dist.TransformedDistribution(base, [spline, autoregressive])
    return {"samples": flow.sample((4,)), "log_prob": flow.log_prob(random(4, 3))}


@part
def hidden_markov():
    start, step = random(3).log_softmax(-1), random(3, 3).log_softmax(-1)
    hmm = dist.DiscreteHMM(start, step, dist.Normal(random(3), 1.0), duration=6)
    return {"log_prob": hmm.log_prob(random(6)), "filtered": hmm.filter(random(6)).logits}
