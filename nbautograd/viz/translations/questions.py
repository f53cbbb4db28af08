"""Texts of answers to questions: where a NaN arose, which memory is kept. Loaded when one is given."""

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
    "memory_kept": (
        "{name} keeps {size} for its backward pass ({n:,} operations)",
        "{name} 为反向传播保留 {size}（{n:,} 个运算）",
    ),
    "memory_kept_1": (
        "{name} keeps {size} for its backward pass ({n} operation)",
        "{name} 为反向传播保留 {size}（{n} 个运算）",
    ),
    "memory_line": ("by line", "按代码行"),
    "memory_op": ("by operation", "按运算"),
    "memory_module": ("by module", "按模块"),
    "memory_tensors": ("tensors", "张量数"),
    "memory_bytes": ("memory", "内存"),
    "memory_share": ("share", "占比"),
    "memory_more": ("… and {n} more", "…… 另有 {n} 行"),
    "memory_forward": ("forward pass", "前向计算"),
    "memory_backward": ("backward pass", "反向传播"),
    "memory_place": ("{cell}, line {n}: {text}", "{cell}，第 {n} 行：{text}"),
    "memory_count": (
        "{n:,} saved tensors in {storages:,} pieces of memory; {size} of it are parameters and data, which stay",
        "保存了 {n:,} 个张量，共 {storages:,} 块内存；其中 {size} 是参数和数据，不随计算图释放",
    ),
    "memory_freed": (
        "a backward pass has already freed what {n:,} of {of:,} operations saved",
        "{of:,} 个运算中有 {n:,} 个保存的值已被反向传播释放",
    ),
    "memory_peak": (
        "estimated peak: forward {forward}, backward {backward} (at {at})",
        "估计的峰值：前向 {forward}，反向 {backward}（在 {at} 处）",
    ),
    "memory_checkpoint": (
        "with checkpoint() around each {kind} ({count}): about {size} instead of {total}, for a second forward pass",
        "若对每个 {kind}（共 {count} 个）使用 checkpoint()：约 {size}，而不是 {total}，代价是多算一次前向",
    ),
    "memory_checkpoint_steps": (
        "with checkpoint() around {count} parts of equal length: about {size} instead of {total}, "
        "for a second forward pass",
        "若分成等长的 {count} 段并使用 checkpoint()：约 {size}，而不是 {total}，代价是多算一次前向",
    ),
    "memory_runs": ("this graph spans {n:,} runs of one line: {line}", "这个计算图跨越了同一行的 {n:,} 次运行：{line}"),
    "memory_runs_freed": (
        "; a backward pass has already used {n:,} of them",
        "；其中 {n:,} 次已被反向传播用过",
    ),
    "memory_fix_item": (
        "if only the number of {name} is needed: `{line}`; with `.detach()` it stays a tensor",
        "如果只需要 {name} 的数值：`{line}`；用 `.detach()` 则仍是张量",
    ),
    "memory_fix_detach": (
        "if no gradient is to go back to the earlier runs: `{name} = {name}.detach()` before each of them",
        "如果梯度不需要传回之前的运行：每次运行之前写 `{name} = {name}.detach()`",
    ),
}
