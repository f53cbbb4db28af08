"""Shared docstrings of optimizers, learning rate schedules and the classes of ``utils.data``."""

from __future__ import annotations

from nbautograd._names.docstrings.classes import Tables, alike

STEP = """\
>>> w = torch.tensor({start}, requires_grad=True)
>>> optimizer = torch.optim.{made}
>>> (w * w).sum().backward()
>>> optimizer.step()
>>> {shown}
{result}"""
OPTIMIZERS = {
    "ASGD": ("[1.0]", "ASGD([w], lr=0.1)", "tensor([0.8000], requires_grad=True)"),
    "Adadelta": ("[1.0]", "Adadelta([w])", "tensor([0.9968], requires_grad=True)"),
    "Adagrad": ("[1.0]", "Adagrad([w], lr=0.1)", "tensor([0.9000], requires_grad=True)"),
    "Adam": ("[1.0, 20.0]", "Adam([w], lr=0.1)", "tensor([ 0.9000, 19.9000], requires_grad=True)"),
    "AdamW": ("[1.0, 20.0]", "AdamW([w], lr=0.1, weight_decay=0.5)", "tensor([ 0.8500, 18.9000], requires_grad=True)"),
    "Adamax": ("[1.0]", "Adamax([w], lr=0.1)", "tensor([0.9000], requires_grad=True)"),
    "RAdam": ("[1.0]", "RAdam([w], lr=0.1)", "tensor([0.8000], requires_grad=True)"),
    "RMSprop": ("[1.0]", "RMSprop([w], lr=0.01)", "tensor([0.9000], requires_grad=True)"),
    "Rprop": ("[1.0]", "Rprop([w], lr=0.1)", "tensor([0.9000], requires_grad=True)"),
}
"""By optimizer: the parameter, the call, and the parameter after a step."""
EPOCHS = """\
>>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
>>> scheduler = torch.optim.lr_scheduler.{made}
>>> rates = []
>>> for _ in range({epochs}):
...     rates += scheduler.get_last_lr()
...     optimizer.step()
...     scheduler.step()
>>> {shown}
{rates}"""
SCHEDULES = {
    "ConstantLR": ("ConstantLR(optimizer, factor=0.5, total_iters=2)", [0.5, 0.5, 1.0, 1.0]),
    "CosineAnnealingLR": ("CosineAnnealingLR(optimizer, T_max=2)", [1.0, 0.5, 0.0]),
    "CosineAnnealingWarmRestarts": ("CosineAnnealingWarmRestarts(optimizer, T_0=2)", [1.0, 0.5, 1.0, 0.5, 1.0]),
    "ExponentialLR": ("ExponentialLR(optimizer, gamma=0.5)", [1.0, 0.5, 0.25, 0.125]),
    "LRScheduler": ("StepLR(optimizer, step_size=2, gamma=0.5)", [1.0, 1.0, 0.5, 0.5, 0.25]),
    "LinearLR": ("LinearLR(optimizer, start_factor=0.5, total_iters=2)", [0.5, 0.75, 1.0, 1.0]),
    "MultiStepLR": ("MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)", [1.0, 0.5, 0.5, 0.25, 0.25]),
    "MultiplicativeLR": ("MultiplicativeLR(optimizer, lr_lambda=lambda epoch: 0.5)", [1.0, 0.5, 0.25, 0.125]),
    "OneCycleLR": ("OneCycleLR(optimizer, max_lr=1.0, total_steps=4, cycle_momentum=False)", [0.04, 0.812, 0.283, 0.0]),
    "PolynomialLR": ("PolynomialLR(optimizer, total_iters=4)", [1.0, 0.75, 0.5, 0.25]),
}
"""By schedule: the call, and the learning rates of the first epochs, which some round."""
ROUNDED = ("CosineAnnealingLR", "CosineAnnealingWarmRestarts", "OneCycleLR")
PARAMETERS = "tensors, pairs of a name and a tensor, or dictionaries of one ``params`` and options for these."
TABLES = Tables(
    shared={
        "alpha": "the share of the past in the mean of squares.",
        "amsgrad": "divide by the largest mean of squares so far.",
        "base_momentum": "the momentum at the highest learning rate.",
        "batch_size": "the number of samples in a batch.",
        "betas": "the decay rates of the running means of the gradient and of its square.",
        "capturable": "for CUDA graphs, which are not supported; accepted or rejected as the class describes.",
        "centered": "subtract the mean of the gradients: divide by their standard deviation.",
        "cycle_momentum": "move the momentum opposite to the learning rate.",
        "dampening": "the share of a new gradient excluded from the velocity.",
        "data_source": "the dataset.",
        "dataset": "the dataset.",
        "datasets": "datasets.",
        "decoupled_weight_decay": "shrink the parameters themselves instead of adding to the gradient, as AdamW does.",
        "differentiable": "accepted only as False: a step is not recorded.",
        "end_factor": "the factor at the end.",
        "eps": "added to the divisor.",
        "eta_min": "the lowest learning rate.",
        "factor": "the factor of the learning rate.",
        "foreach": "a hint about speed, accepted.",
        "fused": "a hint about speed, accepted.",
        "gamma": "the factor of the learning rate.",
        "generator": "the source of random numbers; the default generator if None.",
        "indices": "the positions of the samples.",
        "initial_accumulator_value": "the initial value of the sums of squares.",
        "lambd": "the decay rate of the steps.",
        "lr": "the learning rate: the factor of each step.",
        "lr_decay": "the decay rate of the learning rate.",
        "max_lr": "the highest learning rate, one or one for each group.",
        "max_momentum": "the momentum at the lowest learning rate.",
        "maximize": "go uphill.",
        "milestones": "ascending numbers of epochs.",
        "min_lr": "a lower bound of the learning rate, one or one for each group.",
        "momentum": "the share of the past in the velocity.",
        "momentum_decay": "the decay rate of the momentum.",
        "nesterov": "Nesterov's momentum: look ahead along the velocity.",
        "num_samples": "the number of draws.",
        "optimizer": "the optimizer whose learning rates are set.",
        "patience": "the number of tolerated epochs without improvement.",
        "power": "the exponent.",
        "replacement": "allow a sample to be drawn more than once.",
        "rho": "the share of the past in the means of squares.",
        "sampler": "yields indices.",
        "schedulers": "schedules of one optimizer.",
        "start_factor": "the factor at the beginning.",
        "step_size": "the number of epochs between changes.",
        "t0": "the step at which averaging begins.",
        "tensors": "tensors of the same first size.",
        "total_iters": "the number of epochs of the schedule.",
        "weight_decay": "added to the gradient, multiplied by the parameter.",
        "weights": "the weight of each sample; they need not sum to 1.",
    },
    words={
        "Adadelta": {"lr": "the factor of each step."},
        "AdamW": {"weight_decay": "the share by which a step shrinks the parameter, multiplied by ``lr``."},
        "ASGD": {"alpha": "the exponent of the decay of the steps."},
        "Adafactor": {"weight_decay": "the share by which a step shrinks the parameter, multiplied by ``lr``."},
        "Muon": {"weight_decay": "the share by which a step shrinks the parameter, multiplied by ``lr``."},
        "ChainDataset": {"datasets": "iterable datasets."},
        "CosineAnnealingLR": {"T_max": "the number of epochs of half a wave."},
        "CosineAnnealingWarmRestarts": {
            "T_0": "the number of epochs to the first restart.",
            "T_mult": "the factor of the length of each following wave.",
        },
        "CyclicLR": {
            "base_lr": "the lowest learning rate, one or one for each group.",
            "step_size_up": "the number of steps up.",
            "step_size_down": "the number of steps down; equal by default.",
            "scale_mode": '``"cycle"`` or ``"iterations"``: the argument of ``scale_fn``.',
            "gamma": 'the base of ``"exp_range"``.',
        },
        "DataLoader": {"pin_memory_device": "accepted; memory of the CPU is not pinned."},
        "MultiplicativeLR": {"lr_lambda": "a function of the epoch, or one for each group."},
        "OneCycleLR": {"epochs": "the number of epochs.", "steps_per_epoch": "the number of steps in each."},
        "ReduceLROnPlateau": {"threshold_mode": '``"rel"`` or ``"abs"``.'},
        "SWALR": {
            "swa_lr": "the learning rate at the end, one or one for each group.",
            "anneal_epochs": "the number of epochs until then.",
        },
        "StackDataset": {"args": "datasets, for samples that are tuples.", "kwargs": "or by name, for dicts."},
    },
    raises={
        **alike("Adadelta Adafactor Adam AdamW Adamax NAdam RAdam", {"ValueError": "an option is out of its range."}),
        **alike("Adagrad RMSprop", {"ValueError": "an option is negative."}),
    },
    examples={
        **{
            name: STEP.format(start=start, made=made, shown="w", result=result)
            for name, (start, made, result) in OPTIMIZERS.items()
        },
        "NAdam": STEP.format(start="[1.0]", made="NAdam([w], lr=0.1)", shown="round(w.item(), 3)", result="0.894"),
        **{
            name: EPOCHS.format(
                made=made,
                epochs=len(rates),
                shown="[round(rate, 3) for rate in rates]" if name in ROUNDED else "rates",
                rates=rates,
            )
            for name, (made, rates) in SCHEDULES.items()
        },
    },
)
