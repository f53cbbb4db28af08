"""Translate the player's texts about graphs that do not fit a window."""

from __future__ import annotations

__all__ = ["PLAYER", "PYTHON"]

PYTHON: dict[str, tuple[str, str]] = {
    "made_by_pass": (
        "{name} is what pass {n} computed: its operations are those of that backward pass",
        "{name} 是第 {n} 次反向传播算出的：这些运算就是那次反向传播的运算",
    ),
    "joint": (
        "the gradient of this turn joins those of later turns on their way to {name}",
        "这一轮的梯度与之后各轮的梯度汇合，流向 {name}",
    ),
}
PLAYER: dict[str, tuple[str, str]] = {
    "sum_of": (
        "the sum of {count} gradients; the curve: how large each is (logarithmic), in the order in which they came",
        "{count} 个梯度之和；曲线：各梯度的大小（对数），按到达的顺序",
    ),
    "does_into": ("into the box of this step, out of it", "进入这一步的方框、离开它"),
    "does_level": ("one level up (close a group), one level down (open one)", "上一层（收起一组）、下一层（展开一组）"),
}
