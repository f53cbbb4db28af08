import snntorch as snn
import torch
from snntorch import functional as SF, spikegen, surrogate
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


def through_time(neuron, steps=6):
    x, record = random(steps, 4, 5, grad=True), []
    neuron(x[0])
    for value in x:
        out = neuron(value)
        record.append(out[0] if isinstance(out, tuple) else out)
    spikes = torch.stack(record)
    return gradients((spikes * random(steps, 4, 5)).sum(), x) | {"spikes": spikes}


@part
def leaky_neurons():
    chosen = [snn.Leaky(beta=0.8, init_hidden=True), snn.Lapicque(beta=0.5, init_hidden=True)]
    return [through_time(neuron) for neuron in chosen]


@part
def synaptic_neurons():
    chosen = [snn.Synaptic(alpha=0.9, beta=0.8, init_hidden=True), snn.Alpha(alpha=0.9, beta=0.8, init_hidden=True)]
    return [through_time(neuron) for neuron in chosen]


@part
def surrogates():
    chosen = [
        surrogate.fast_sigmoid(),
        surrogate.atan(),
        surrogate.straight_through_estimator(),
        surrogate.triangular(),
    ]
    return [through_time(snn.Leaky(beta=0.9, init_hidden=True, spike_grad=grad)) for grad in chosen]


@part
def encodings():
    x = torch.rand(3, 4)
    return {"rate": spikegen.rate(x, num_steps=5), "latency": spikegen.latency(x, num_steps=5, normalize=True)}


@part
def network():
    model = nn.ModuleList([nn.Linear(6, 10), snn.Leaky(beta=0.9), nn.Linear(10, 3), snn.Leaky(beta=0.9)])
    x, y, loss = random(8, 6), torch.randint(0, 3, (8,)), SF.ce_rate_loss()

    def value():
        hidden, out, spikes = model[1].init_leaky(), model[3].init_leaky(), []
        for _ in range(5):
            spike, hidden = model[1](model[0](x), hidden)
            spike, out = model[3](model[2](spike), out)
            spikes.append(spike)
        return loss(torch.stack(spikes), y)

    return trained(model, value, steps=3)
