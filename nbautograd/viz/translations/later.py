"""Translate what a player says of predictions, the forward pass, and graphs that do not fit a window."""

from __future__ import annotations

__all__ = ["LARGE", "PREDICTION", "PYTHON"]

PREDICTION: dict[str, tuple[str, str]] = {
    "ask": ("Predict, then see (?)", "先预测，再看结果（?）"),
    "ask_hint": ("Predict, then see: press →, then type each gradient before it is shown. 1/3 and 2*3 will do.",
                 "先预测，再看结果：按 →，然后在显示之前输入每个梯度。可以写 1/3 或 2*3。"),
    "ask_caption": ("What is {name}?", "{name} 是多少？"),
    "ask_type": ("0.5 or 2*3", "0.5 或 2*3"),
    "ask_check": ("Check", "检查"),
    "ask_skip": ("Skip", "跳过"),
    "ask_none": ("The upstream, times the local derivative of {title}.", "到达的梯度乘以 {title} 的局部导数。"),
    "ask_upstream": ("Hint: this is the upstream gradient.", "提示：这是从上游到达的梯度。"),
    "ask_local": ("Hint: and this is the local derivative.", "提示：这是局部导数。"),
    "ask_unreadable": ("This is not a number: write 0.5, 1/3, 2*3 or 3*cos(3).",
                       "这不是一个数：请写 0.5、1/3、2*3 或 3*cos(3)。"),
    "ask_wrong": ("Not {value}. Try again.", "不是 {value}。再试一次。"),
    "ask_right": ("Right: {name} = {value}.", "正确：{name} = {value}。"),
    "ask_shown": ("It is {name} = {value}.", "答案是 {name} = {value}。"),
    "ask_first": ("Answer first, or skip.", "请先回答，或跳过。"),
    "ask_tries": ("wrong: {count}", "答错 {count} 次"),
    "ask_missed": ("To look at again: {list}", "可以再看看：{list}"),
    "ask_again": ("Again", "再来一次"),
    "score": ("{right} of {count} at first try", "共 {count} 题，一次答对 {right} 题"),
    "forward_step": ("forward {index} of {last}", "前向第 {index} 步，共 {last} 步"),
    "forward_start": ("Before the forward pass", "前向计算之前"),
    "forward_hint": ("Nothing has been computed yet: only the leaves have values. Press → to run one operation.",
                     "尚未计算：只有叶子节点有值。按 → 执行一个运算。"),
    "forward_saves": ("Saved for backward: {saved}", "为反向传播保存：{saved}"),
    "forward_dots": ("The dots are what it keeps for the backward pass.", "圆点是它为反向传播保存的值。"),
    "forward_takes": ("takes", "输入"),
    "forward_gives": ("gives", "输出"),
    "half_forward": ("forward: values", "前向：数值"),
    "half_forward_do": ("Play the forward pass", "播放前向计算"),
}  # fmt: skip
LARGE: dict[str, tuple[str, str]] = {
    "sum_of": (
        "the sum of {count} gradients; the curve: how large each is (logarithmic), in the order in which they came",
        "{count} 个梯度之和；曲线：各梯度的大小（对数），按到达的顺序",
    ),
    "does_into": ("into the box of this step, out of it", "进入这一步的方框、离开它"),
    "does_level": ("one level up (close a group), one level down (open one)", "上一层（收起一组）、下一层（展开一组）"),
}

# What Python says of such graphs.
PYTHON: dict[str, tuple[str, str]] = {
    "made_by_pass": ("{name} is what pass {n} computed: its operations are those of that backward pass",
                     "{name} 是第 {n} 次反向传播算出的：这些运算就是那次反向传播的运算"),
    "joint": ("the gradient of this turn joins those of later turns on their way to {name}",
              "这一轮的梯度与之后各轮的梯度汇合，流向 {name}"),
}  # fmt: skip
