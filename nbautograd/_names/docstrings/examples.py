"""The examples that layers of one, two and three dimensions share."""

from __future__ import annotations

BY_KIND = {
    "AdaptiveAvgPool": """
>>> torch.nn.{name}(1)(torch.arange(4.).expand(1, 1, {fours})).flatten()
tensor([1.5000])""",
    "AdaptiveMaxPool": """
>>> torch.nn.{name}(1)(torch.arange(4.).expand(1, 1, {fours})).flatten()
tensor([3.])""",
    "AvgPool": """
>>> torch.nn.{name}(2)(torch.arange(4.).expand(1, 1, {fours})).flatten()[:2]
tensor([0.5000, 2.5000])""",
    "BatchNorm InstanceNorm": """
>>> torch.nn.{name}(3)(torch.randn(2, 3, {fours})).mean().abs() < 1e-6
tensor(True)""",
    "CircularPad ReflectionPad ReplicationPad ZeroPad": """
>>> torch.nn.{name}(1)(torch.tensor([[[[1., 2.], [3., 4.]]]]).expand(1, {twos})).shape
torch.Size([1, {fours}])""",
    "Conv": """
>>> torch.nn.{name}(3, 8, 3, padding=1)(torch.ones(2, 3, {fours})).shape
torch.Size([2, 8, {fours}])""",
    "ConvTranspose": """
>>> torch.nn.{name}(3, 8, 2, stride=2)(torch.ones(2, 3, {fours})).shape
torch.Size([2, 8, {eights}])""",
    "Dropout": """
>>> torch.nn.{name}(0.5).eval()(torch.ones(1, 2, {fours})).shape
torch.Size([1, 2, {fours}])""",
    "LPPool": """
>>> torch.nn.{name}(2, 2)(torch.ones(1, 1, {fours})).shape
torch.Size([1, 1, {twos}])""",
    "LazyBatchNorm LazyInstanceNorm": """
>>> layer = torch.nn.{name}()
>>> _ = layer(torch.randn(2, 3, {fours}))
>>> layer.num_features
3""",
    "LazyConv": """
>>> layer = torch.nn.{name}(8, 3)
>>> _ = layer(torch.ones(2, 3, {fours}))
>>> layer.weight.shape
torch.Size([8, 3, {threes}])""",
    "LazyConvTranspose": """
>>> layer = torch.nn.{name}(8, 2)
>>> _ = layer(torch.ones(2, 3, {fours}))
>>> layer.weight.shape
torch.Size([3, 8, {twos}])""",
    "MaxPool": """
>>> torch.nn.{name}(2)(torch.arange(4.).expand(1, 1, {fours})).flatten()[:2]
tensor([1., 3.])""",
    "MaxUnpool": """
>>> pool = torch.nn.MaxPool{n}d(2, return_indices=True)
>>> values, places = pool(torch.arange({elements}.).reshape(1, 1, {fours}))
>>> torch.nn.{name}(2)(values, places).count_nonzero()
tensor({windows})""",
}
"""By the names without the number of dimensions; a class with an example of its own has that."""

SIZES = {"twos": "2", "threes": "3", "fours": "4", "eights": "8"}
EXAMPLES = {
    f"{kind}{n}d": text.lstrip().format(
        name=f"{kind}{n}d",
        n=n,
        elements=4**n,
        windows=2**n,
        **{name: ", ".join([size] * n) for name, size in SIZES.items()},
    )
    for kinds, text in BY_KIND.items()
    for kind in kinds.split()
    for n in (1, 2, 3)
}
