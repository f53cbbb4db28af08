"""Texts of ``%practice``."""

from __future__ import annotations

__all__ = ["TEXTS"]

TEXTS: dict[str, tuple[str, str]] = {
    "practice_head": (
        "Question {number} · level {level} · seed {seed}",
        "第 {number} 题 · 第 {level} 级 · 种子 {seed}",
    ),
    "practice_gradient": (
        "What is {name}.grad at the end? A number, a list, or None.",
        "最后 {name}.grad 是什么？填一个数、一个列表，或 None。",
    ),
    "practice_passes": (
        "What is {name}.grad after both passes? A number, a list, or None.",
        "两次反向传播之后，{name}.grad 是什么？填一个数、一个列表，或 None。",
    ),
    "practice_leaf": (
        "Which of these tensors are leaves? Give all names, for example: w, a",
        "这些张量中，哪些是叶子节点？写出全部名字，例如：w, a",
    ),
    "practice_fails": (
        "Which line raises an error? Its number, or 0 if none does.",
        "哪一行会报错？填行号；如果都不报错，填 0。",
    ),
    "practice_how": (
        "%practice and your answer checks it; %practice --show opens the answer; %practice alone goes on.",
        "%practice 后面写上答案即可检查；%practice --show 打开答案；单独的 %practice 进入下一题。",
    ),
    "practice_right": ("Right.", "正确。"),
    "practice_wrong": ("Not yet. {fault}", "还不对。{fault}"),
    "practice_risen": (
        "{n} in a row: the next question is of level {level}.",
        "连续答对 {n} 题：下一题进入第 {level} 级。",
    ),
    "practice_no_answer": (
        "an answer is missing, for example %practice 6, or .answer('w, a')",
        "缺少答案，例如 %practice 6 或 .answer('w, a')",
    ),
    "practice_no_series": ("there is no question yet; %practice draws one", "还没有题目；先运行 %practice 出一道题"),
    "practice_unread": (
        "{given!r} is no number, no list of numbers and not None.",
        "{given!r} 不是数、数的列表或 None。",
    ),
    "practice_length": ("{name} has {n} elements, and its gradient, too.", "{name} 有 {n} 个元素，它的梯度也一样。"),
    "practice_length_1": ("{name} has {n} element, and its gradient, too.", "{name} 有 {n} 个元素，它的梯度也一样。"),
    "practice_none": (
        "{name} is a leaf, but no gradient arrives: no recorded path leads from y to it.",
        "{name} 是叶子节点，但没有梯度到达：从 y 到它没有被记录的路径。",
    ),
    "practice_no_leaf": (
        "{name} is no leaf: a gradient flows through it and is not stored.",
        "{name} 不是叶子节点：梯度流过它，但不会保存。",
    ),
    "practice_arrived": (
        "{name} is a leaf that requires gradients, and a path leads from y to it.",
        "{name} 是需要梯度的叶子节点，而且有路径从 y 通到它。",
    ),
    "practice_is_value": ("{given} is the value of {name}.", "{given} 是 {name} 的值。"),
    "practice_is_sign": ("Only the sign is wrong.", "只是符号错了。"),
    "practice_is_first": (
        "{given} is {name}.grad after the first pass.",
        "{given} 是第一次反向传播之后的 {name}.grad。",
    ),
    "practice_is_last": (
        "{given} is what the second pass adds. What was there before?",
        "{given} 是第二次反向传播加上的部分。之前已经有多少？",
    ),
    "practice_is_kept": (
        "{given} is the sum of both passes, but {name}.grad is emptied between them.",
        "{given} 是两次之和，但在两次之间 {name}.grad 被清空了。",
    ),
    "practice_is_other": (
        "{given} is not it. Multiply along each path from y to {name}, then add the paths.",
        "{given} 不对。沿从 y 到 {name} 的每条路径相乘，再把各条路径相加。",
    ),
    "practice_unread_line": ("{given} is not the number of a line.", "{given} 不是行号。"),
    "practice_one_fails": ("One of the lines raises an error.", "有一行会报错。"),
    "practice_line_runs": ("Line {line} runs, or is never reached.", "第 {line} 行不报错，或者执行不到。"),
    "practice_no_name": ("{given} is none of the tensors {names}.", "{given} 不是张量 {names} 中的任何一个。"),
    "practice_extra": ("{name} is no leaf: its grad_fn is {node}.", "{name} 不是叶子节点：它的 grad_fn 是 {node}。"),
    "practice_missing": ("{name} is missing: it has no grad_fn.", "漏了 {name}：它没有 grad_fn。"),
    "practice_line": ("Line {line}: {error}", "第 {line} 行：{error}"),
    "practice_no_line": ("No line raises an error.", "没有哪一行报错。"),
    "practice_leaves": ("The leaves are {names}.", "叶子节点是 {names}。"),
    "practice_grad": ("{name}.grad is {value}.", "{name}.grad 是 {value}。"),
}
