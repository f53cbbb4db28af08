"""Texts of answers: where a NaN arose, which memory is kept, why a gradient is as it is. Loaded when one is given."""

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
        "{n:,} saved tensors in {pieces}; {size} of it are parameters and data, which stay",
        "保存了 {n:,} 个张量，共 {pieces}；其中 {size} 是参数和数据，不随计算图释放",
    ),
    "memory_pieces": ("{n:,} pieces of memory", "{n:,} 块内存"),
    "memory_pieces_1": ("{n} piece of memory", "{n} 块内存"),
    "memory_count_1": (
        "one saved tensor; {size} of it are parameters and data, which stay",
        "保存了一个张量；其中 {size} 是参数和数据，不随计算图释放",
    ),
    "memory_freed": (
        "a backward pass has already freed what operations saved: {n:,} of {of:,}",
        "{of:,} 个运算中有 {n:,} 个保存的值已被反向传播释放",
    ),
    "memory_peak": (
        "estimated peak: forward {forward}, backward {backward} (at {at})",
        "估计的峰值：前向 {forward}，反向 {backward}（在 {at} 处）",
    ),
    "memory_checkpoint": (
        "with a checkpoint around each {kind} ({count}): about {size} instead of {total}, for a second forward pass",
        "若对每个 {kind}（共 {count} 个）使用 checkpoint：约 {size}，而不是 {total}，代价是多算一次前向",
    ),
    "memory_checkpoint_steps": (
        "with checkpoints around {count} parts of equal length: about {size} instead of {total}, "
        "for a second forward pass",
        "若分成等长的 {count} 段并使用 checkpoint：约 {size}，而不是 {total}，代价是多算一次前向",
    ),
    "memory_runs": ("this graph spans {n:,} runs of one line: {line}", "这个计算图跨越了同一行的 {n:,} 次运行：{line}"),
    "memory_runs_freed": ("; a backward pass has already used {n:,} of them", "；其中 {n:,} 次已被反向传播用过"),
    "memory_fix_item": ("if only the number of {name} is needed: `{line}`", "如果只需要 {name} 的数值：`{line}`"),
    "memory_fix_detach": (
        "if no gradient is to go back to the earlier runs: `{name} = {name}.detach()` before each of them",
        "如果梯度不需要传回之前的运行：每次运行之前写 `{name} = {name}.detach()`",
    ),
    "mark_memory": ("the area of a mark is the memory that its box keeps", "圆点的面积表示该框保留的内存"),
    "mark_time": ("the area of a mark is the time of its box, of both passes", "圆点的面积表示该框两个方向的总时间"),
    "mark_flops": ("the area of a mark is the FLOP of its box, of both passes", "圆点的面积表示该框两个方向的 FLOP"),
    "cost_label": (
        "{name}: {n:,} operations, {parameters}, {forward} FLOP forward, {backward} FLOP backward",
        "{name}：{n:,} 个运算，{parameters}，前向 {forward} FLOP，反向 {backward} FLOP",
    ),
    "cost_label_1": (
        "{name}: one operation, {parameters}, {forward} FLOP forward, {backward} FLOP backward",
        "{name}：一个运算，{parameters}，前向 {forward} FLOP，反向 {backward} FLOP",
    ),
    "cost_weights": ("{count} parameters", "{count} 个参数"),
    "cost_weights_1": ("{count} parameter", "{count} 个参数"),
    "cost_whole": (
        "forward: {whole} ms, of which {inside} ms in operations with a gradient; the rest is Python and watching",
        "前向：{whole} 毫秒，其中 {inside} 毫秒在有梯度的运算中；其余是 Python 和观察",
    ),
    "cost_unknown": (
        "the shapes of {n:,} products were not noted: their FLOP are left out",
        "没有记录 {n:,} 个乘积的形状：未计入它们的 FLOP",
    ),
    "cost_unknown_1": (
        "the shapes of one product were not noted: its FLOP are left out",
        "没有记录一个乘积的形状：未计入它的 FLOP",
    ),
    "cost_no_forward": (
        "forward: no times, since it ran before; write the expression, as in %cost (w * x).sum()",
        "前向：没有时间，因为它之前已运行；请写出表达式，如 %cost (w * x).sum()",
    ),
    "cost_backward": ("backward: {inside} ms in its operations", "反向：各运算共 {inside} 毫秒"),
    "cost_no_graph": ("backward: there is no graph", "反向：没有计算图"),
    "cost_freed": ("backward: no times, since a pass has freed the graph", "反向：没有时间，因为计算图已被释放"),
    "cost_hooks": (
        "backward: no times, since a pass of its own would call the hooks",
        "反向：没有时间，因为另做一次反向传播会调用钩子",
    ),
    "cost_failed": ("backward: no times, since the pass fails", "反向：没有时间，因为反向传播失败"),
    "cost_count": ("operations", "运算数"),
    "cost_parameters": ("parameters", "参数"),
    "cost_flops": ("FLOP forward", "前向 FLOP"),
    "cost_backward_flops": ("FLOP backward", "反向 FLOP"),
    "cost_ms": ("ms forward", "前向 毫秒"),
    "cost_backward_ms": ("ms backward", "反向 毫秒"),
    "cost_bytes": ("memory", "内存"),
    "why_none": ("{name}.grad is None", "{name}.grad 是 None"),
    "why_is_zero": ("{name}.grad is 0", "{name}.grad 是 0"),
    "why_is_tiny": ("{name}.grad is tiny: {value}", "{name}.grad 很小：{value}"),
    "why_is_huge": ("{name}.grad is huge: {value}", "{name}.grad 很大：{value}"),
    "why_is_nan": ("{name}.grad has NaN or infinity: {value}", "{name}.grad 含有 NaN 或无穷大：{value}"),
    "why_is_number": ("{name}.grad = {value}", "{name}.grad 为 {value}"),
    "why_number": (
        "{name}.grad = {value}: the sum over {n:,} paths from {root}",
        "{name}.grad = {value}：从 {root} 出发的 {n:,} 条路径之和",
    ),
    "why_number_1": (
        "{name}.grad = {value}: the product along one path from {root}",
        "{name}.grad = {value}：从 {root} 出发的一条路径上的乘积",
    ),
    "why_no_request": (
        "{name}.requires_grad is False: no gradient was requested",
        "{name}.requires_grad 为 False：没有要求它的梯度",
    ),
    "why_no_leaf": (
        "{name} is no leaf: {operation} computed it{line}; only leaves keep .grad, so call {name}.retain_grad() "
        "before the pass, or look at the leaf",
        "{name} 不是叶子节点：它由 {operation} 计算{line}；只有叶子节点保留 .grad，"
        "请在反向传播之前调用 {name}.retain_grad()，或查看叶子节点",
    ),
    "why_no_pass": (
        "no pass has run: {root}.backward() would add {value}",
        "还没有反向传播：{root}.backward() 会加上 {value}",
    ),
    "why_reset": (
        "a pass through {root} has run; .grad was set to None since then (zero_grad), or the pass had inputs=, or it "
        "was grad(), which only returns the gradient",
        "经过 {root} 的反向传播已运行；之后 .grad 被设为 None（zero_grad），或那次使用了 inputs=，"
        "或那是只返回梯度的 grad()",
    ),
    "why_returned_none": (
        "{operation} gets a gradient and sends none toward {name}: its backward() returns None there{line}",
        "{operation} 收到梯度，但没有传向 {name}：它的 backward() 在此返回 None{line}",
    ),
    "why_accumulated": (
        "{n} passes were summed: one gives {value}; call zero_grad() before each pass",
        "累加了 {n} 次反向传播：一次是 {value}；每次之前请调用 zero_grad()",
    ),
    "why_other_sum": (
        "one pass from {root} gives {value}: {name}.grad also holds earlier passes, or was changed",
        "从 {root} 反向传播一次得到 {value}：{name}.grad 还含有之前的结果，或被修改过",
    ),
    "why_zero_at": ("the gradient becomes 0 at {operation}{line}", "梯度在 {operation} 处变为 0{line}"),
    "why_factor": (
        "the decisive factor is {factor}, at {operation}{line}",
        "起决定作用的因子是 {factor}，在 {operation} 处{line}",
    ),
    "why_line": (
        "{n:,} operations of one line multiply it by {factor} together: {line}",
        "同一行的 {n:,} 个运算一共乘以 {factor}：{line}",
    ),
    "why_relu": (
        ": all inputs with a gradient are negative or 0 (dead ReLU)",
        "：有梯度的输入都小于或等于 0（死亡的 ReLU）",
    ),
    "why_saturated": (": it is saturated, its result is {value}", "：已饱和，其结果是 {value}"),
    "why_quarter": (": its derivative is at most 1/4", "：它的导数最大是 1/4"),
    "why_flat": (": its derivative is 0 everywhere", "：它的导数处处为 0"),
    "why_times": (": it multiplies by {value}", "：它乘以 {value}"),
    "why_clamp": (": the input is outside of the limits", "：输入在界限之外"),
    "why_selected": (": other elements were selected", "：选中的是其他元素"),
    "why_bad_at": (
        "the first NaN or infinity arises at {operation}{line}; %autograd --stop nan stops there",
        "第一个 NaN 或无穷大出现在 {operation}{line}；%autograd --stop nan 会在那里停止",
    ),
    "why_bad": (
        "the pass began with it, or an earlier one left it in .grad: %autograd --stop nan finds the operation",
        "反向传播开始时就有，或是之前留在 .grad 中的：%autograd --stop nan 可找到该运算",
    ),
    "path_total": (
        "∂{root}/∂{name} = {value}: the sum over {count} paths",
        "∂{root}/∂{name} = {value}：{count} 条路径之和",
    ),
    "path_total_1": (
        "∂{root}/∂{name} = {value}: the product along one path",
        "∂{root}/∂{name} = {value}：一条路径上的乘积",
    ),
    "path_lead": ("{count} paths lead from {root} to {name}", "从 {root} 到 {name} 有 {count} 条路径"),
    "path_lead_1": ("one path leads from {root} to {name}", "从 {root} 到 {name} 有一条路径"),
    "path_norms": (
        "factors of tensors are ratios of norms: after an operation to before it",
        "张量的因子是范数之比：运算之后与运算之前之比",
    ),
    "why_norm": ("norm {value}", "范数 {value}"),
    "why_more_paths": ("… and {n:,} more paths", "…… 另有 {n:,} 条路径"),
    "why_more_paths_1": ("… and {n} more path", "…… 另有 {n} 条路径"),
    "why_left_out": ("… {n:,} operations …", "…… {n:,} 个运算 ……"),
    "why_freed": (
        "the graph of {root} is freed, and not every value was noted: ask before the pass, or keep it with "
        "retain_graph=True, for the numbers",
        "{root} 的计算图已释放，而且没有记录所有的值：要看数值，请在反向传播之前询问，或使用 retain_graph=True",
    ),
    "why_hooks": (
        "the graph has hooks, which a pass of its own would call: no numbers",
        "计算图上有钩子，另做一次反向传播会调用它们：没有数值",
    ),
    "why_failed": ("the numbers could not be computed: {error}", "无法计算数值：{error}"),
    "why_no_path": ("{root} does not depend on {name}: no path leads there", "{root} 不依赖 {name}：没有路径通向它"),
    "why_nothing": ("no result among the variables depends on {name}", "变量中没有依赖 {name} 的结果"),
    "why_root_bare": ("{root} has no graph at all", "{root} 没有计算图"),
    "why_stop_call": ("cut off by {what}: {line}", "被 {what} 切断：{line}"),
    "why_stop_integers": (
        "{what} gives integers or bools, which have no derivative: {line}",
        "{what} 得到整数或布尔值，没有导数：{line}",
    ),
    "why_stop_branch": ("a branch with {name} did not run, at {line}", "用到 {name} 的分支没有运行，在 {line}"),
    "why_unused": ("the available code does not use {name}", "可读取的代码中没有用到 {name}"),
    "why_module": (
        "gradients of the {n:,} parameters of {name}, norm {norm} together",
        "{name} 的 {n:,} 个参数的梯度，总范数 {norm}",
    ),
    "why_module_1": ("gradient of the only parameter of {name}, norm {norm}", "{name} 唯一参数的梯度，范数 {norm}"),
    "why_frozen": ("requires_grad is False", "requires_grad 为 False"),
    "why_waits": ("no pass has come here yet", "反向传播还没有到这里"),
    "why_not_called": ("not used: its module was not called, or was cut off", "没有用到：它的模块没有被调用，或被切断"),
    "why_state_zero": ("zero", "零"),
    "why_state_tiny": ("tiny", "很小"),
    "why_state_huge": ("huge", "很大"),
    "why_state_nan": ("NaN or infinity", "NaN 或无穷大"),
    "why_falls": (
        "from {after} to {before}, toward the input, the gradient falls by a factor of {ratio}",
        "从 {after} 到 {before}（朝输入方向），梯度缩小到 1/{ratio}",
    ),
    "why_grows": (
        "from {after} to {before}, toward the input, the gradient grows by a factor of {ratio}",
        "从 {after} 到 {before}（朝输入方向），梯度放大 {ratio} 倍",
    ),
    "why_dead": (
        "dead ReLU: {n:,} of {of:,} units are 0 for every sample{line}",
        "死亡的 ReLU：{of:,} 个单元中有 {n:,} 个对每个样本都是 0{line}",
    ),
    "why_dead_1": (
        "dead ReLU: its {of} unit is 0 for every sample{line}",
        "死亡的 ReLU：仅有的 {of} 个单元对每个样本都是 0{line}",
    ),
    "why_ends": ("{share} of the results of {name} are saturated{line}", "{name} 的结果有 {share} 已饱和{line}"),
    "diff_label": (
        "{a} and {b}: {n:,} operations match, {one:,} only in {a}, {other:,} only in {b}",
        "{a} 与 {b}：{n:,} 个运算相同，{one:,} 个只在 {a} 中，{other:,} 个只在 {b} 中",
    ),
    "diff_label_1": (
        "{a} and {b}: {n} operation matches, {one:,} only in {a}, {other:,} only in {b}",
        "{a} 与 {b}：{n} 个运算相同，{one:,} 个只在 {a} 中，{other:,} 个只在 {b} 中",
    ),
    "diff_none": ("{a} and {b} are alike: {n:,} operations", "{a} 与 {b} 相同：{n:,} 个运算"),
    "diff_none_1": ("{a} and {b} are alike: {n} operation", "{a} 与 {b} 相同：{n} 个运算"),
    "diff_only": ("only in {name}: {what}", "只在 {name} 中：{what}"),
    "diff_shape": ("another shape, {one} and {other}: {what}", "形状不同，{one} 与 {other}：{what}"),
    "diff_value": (
        "{n:,} operations have other values, the first {one} and {other}: {what}",
        "{n:,} 个运算的值不同，第一个是 {one} 与 {other}：{what}",
    ),
    "diff_value_1": (
        "one operation has another value, {one} and {other}: {what}",
        "一个运算的值不同，{one} 与 {other}：{what}",
    ),
    "diff_gradient": (
        "the first other gradient of a backward pass, {one} and {other} (norms): {what}",
        "反向传播中第一个不同的梯度，{one} 与 {other}（范数）：{what}",
    ),
    # %practice
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
    # exercises
    "exercise_right": ("Exercise {number}: right", "练习 {number}：正确"),
    "exercise_wrong": ("Exercise {number}: not yet. {fault}", "练习 {number}：还不对。{fault}"),
    "exercise_untried": (
        "Exercise {number}: not tried yet. Put your answer in place of the dots and run both cells again.",
        "练习 {number}：还没有做。把省略号换成你的答案，再运行这两个单元格。",
    ),
    "exercise_dots": ("Answers that are still dots: {open} of {of}.", "{of} 个答案中还有 {open} 个是省略号。"),
    "exercise_untouched": (
        "Exercise {number}: not tried yet. Write your lines in the cell above and run both cells again.",
        "练习 {number}：还没有做。请在上面的单元格中写下你的代码，再重新运行两个单元格。",
    ),
    "exercise_none": (
        "The answer is None. Does your function return its result? Is the value assigned, not only printed?",
        "答案是 None。函数返回结果了吗？结果是赋给了变量，还是只打印了出来？",
    ),
    "exercise_no_tensor": (
        "The answer should be a tensor, but it is {value}, of type {kind}.",
        "答案应当是张量，现在是 {value}，类型为 {kind}。",
    ),
    "exercise_unusable": ("The check cannot use this answer. {kind}: {text}", "无法检查这个答案。{kind}：{text}"),
    "exercise_raised": ("{kind}: {text} (in: {line})", "{kind}：{text}（出错的一行：{line}）"),
    "exercise_score": ("{solved} of {n} exercises solved.", "{n} 道练习中完成了 {solved} 道。"),
    "exercise_score_1": ("{solved} of {n} exercise solved.", "{n} 道练习中完成了 {solved} 道。"),
    "exercise_points": ("{points} of {of} points.", "得分 {points}，满分 {of}。"),
    "exercise_points_1": ("{points} of {of} point.", "得分 {points}，满分 {of}。"),
    "exercise_file": ("The score is in the file {name}: hand it in.", "得分已写入文件 {name}，请提交该文件。"),
    "exercise_is_right": ("right", "正确"),
    "exercise_is_wrong": ("not yet", "还不对"),
    "exercise_is_untried": ("not tried yet", "还没有做"),
}
