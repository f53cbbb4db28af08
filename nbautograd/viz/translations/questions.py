"""Texts of answers to questions: where a NaN arose. Loaded when one is given."""

from __future__ import annotations

from nbautograd._engine.base.bad_numbers import TEXTS as BAD

__all__ = ["TEXTS"]

TEXTS: dict[str, tuple[str, str]] = {
    "bad_made": (BAD["bad_made"], "{name}() 得到 {result}{at}{count}"),
    "bad_vjp": (BAD["bad_vjp"], "{name} 的公式得到 {result}{at}{count}"),
    "bad_at": (BAD["bad_at"], "，位置 {index}"),
    "bad_count": (BAD["bad_count"], "（{size:,} 个元素中有 {n:,} 个）"),
    "bad_line": (BAD["bad_line"], "{label}，第 {n} 行：{text}"),
    "bad_inputs": (BAD["bad_inputs"], "输入：{inputs}"),
    "bad_outside": (BAD["bad_outside"], "{name} 中原来就有：不是被观察的运算产生的"),
    "bad_way": (BAD["bad_way"], "来路：{way}"),
    "bad_cure": (BAD["bad_cure"], "办法：{cure}"),
    "cure_log": (
        BAD["cure_log"],
        "让参数大于 0：log(x + eps) 或 x.clamp(min=eps).log()；概率用 log_softmax；"
        "在取对数之前写 where(x > 0, x, 1.).log()，而不是之后写 where(x > 0, x.log(), 0.)",
    ),
    "cure_divide": (BAD["cure_divide"], "让除数不为 0：a / (b + eps)，或在除法之前写 where(b == 0, 1., b)"),
    "cure_root": (BAD["cure_root"], "让参数大于 0：(x + eps).sqrt() 或 x.clamp(min=eps).sqrt()；在 0 处导数是无穷大"),
    "cure_exp": (BAD["cure_exp"], "先减去最大值：exp(x - x.max())；或使用 logsumexp、softmax、clamp(max=...)"),
    "cure_domain": (BAD["cure_domain"], "让参数留在定义域内：x.clamp(-1 + eps, 1 - eps)"),
    "cure_masked": (BAD["cure_masked"], "每一行至少留一个不被遮盖的元素，或用很大的负数来遮盖"),
    "cure_zero_times": (
        BAD["cure_zero_times"],
        "那里的梯度是 0，而 0 乘无穷大是 NaN：应在运算之前替换非法输入 where(x > 0, x, 1.)，"
        "而不是之后替换结果；或加上 eps",
    ),
    "cure_large": (BAD["cure_large"], "数值超出了 {dtype} 的范围：减小学习率、使用 clip_grad_norm_，或先做标准化"),
    "cure_empty": (BAD["cure_empty"], "没有元素：请先检查形状"),
    "cure_outside": (BAD["cure_outside"], "请检查数据：torch.isfinite({name}).all()"),
    "cure_other": (BAD["cure_other"], "请看输入：用 clamp 限制它们，或换一个在那里稳定的公式"),
}
