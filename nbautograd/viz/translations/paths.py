"""Texts about paths, sensitivities and the marks in a drawing: English and Chinese, as they stand for all."""

from __future__ import annotations

__all__ = ["PLAYER", "PYTHON"]

# What the player says: it gets these as data and puts the numbers in itself.
PLAYER: dict[str, tuple[str, str]] = {
    "paths": ("Paths from {root} to {name}", "从 {root} 到 {name} 的路径"),
    "paths_none": ("No gradient comes to {name}.", "没有梯度到达 {name}。"),
    "paths_more": ("… {count} more", "……另有 {count} 条"),
    "paths_rule": (
        "Along a path the local derivatives are multiplied; over all paths the products are summed.",
        "沿一条路径把局部导数相乘；再把所有路径的乘积相加。",
    ),
    "paths_sum": ("sum over {count} paths", "{count} 条路径之和"),
    "paths_one": ("one path", "只有一条路径"),
    "paths_other": (
        "The pass recorded {value}: something besides these paths changed it, such as a hook.",
        "实际记录为 {value}：除这些路径外还有其他因素（如钩子）改变了它。",
    ),
    "paths_folded": (
        "Open the folded groups to see the numbers along each path.",
        "展开折叠的组，即可看到每条路径上的数值。",
    ),
    "several_edges": (
        "This line stands for {count} edges: open the group to see their gradients.",
        "这条线代表 {count} 条边：展开该组即可看到各自的梯度。",
    ),
    "path_unknown": ("not told by the recording", "记录中没有"),
    "path_n": ("path {n}: {path}", "路径 {n}：{path}"),
    "undo_broadcast": (
        "Σ dim {dims}: {name} was broadcast, so its gradient is summed over these dimensions.",
        "Σ dim {dims}：{name} 被广播过，所以梯度沿这些维度求和。",
    ),
    "faster": ("{root} changes {times} times as fast as {name}.", "{root} 的变化是 {name} 的 {times} 倍。"),
    "against": (
        "{root} changes {times} times as fast as {name}, the other way.",
        "{root} 的变化是 {name} 的 {times} 倍，方向相反。",
    ),
    "as_fast": ("{root} changes as fast as {name}.", "{root} 与 {name} 变化得一样快。"),
    "unmoved": ("{root} does not change with {name} here.", "在这一点，{root} 不随 {name} 变化。"),
    "sensitivity_part": (
        "By this way alone: if {name} grows by 0.01, {root} changes by {change}.",
        "仅就这条路径：若 {name} 增加 0.01，{root} 变化 {change}。",
    ),
    "one_way": (
        "{name} gets gradients from {count} sides, here by way of {via}; they are summed.",
        "{name} 从 {count} 处得到梯度，这里经 {via}；它们会相加。",
    ),
    "adds_up": (
        "A pass adds to .grad and never replaces it: zero_grad() empties it before the next one.",
        "每次反向传播都加到 .grad 上，从不替换它：下一次之前用 zero_grad() 清空。",
    ),
    "not_here_yet": ("The pass has not come here yet.", "反向传播还没有到这里。"),
    "no_gradient_here": ("A constant: no gradient goes this way.", "常量：没有梯度流过这里。"),
    "local_of": ("local derivatives", "局部导数"),
    "marks": ("Marks and keys (I)", "记号与按键（I）"),
    "marks_title": ("What the marks mean", "图中记号的含义"),
    "keys_title": ("What keys do", "按键的作用"),
    "key_space": ("Space", "空格"),
    "does_play": ("play, pause", "播放、暂停"),
    "does_step": ("one step back, one step forward", "后退一步、前进一步"),
    "does_ends": (
        "before the first step (again: before the forward pass), last step",
        "开头（再按：前向之前）、最后一步",
    ),
    "does_along": ("against the arrows, along the arrows", "逆着箭头、沿着箭头走"),
    "does_list": ("previous node, next node", "上一个节点、下一个节点"),
    "does_edges": ("next, previous edge or operation here: what its number means", "下一个、上一个边或运算的含义"),
    "does_nudge": ("nudge a leaf: what would change?", "微调一个叶子节点：会有什么变化？"),
    "does_ask": ("predict, then see", "先预测，再看结果"),
    "does_passes": ("previous pass, next pass", "上一次、下一次反向传播"),
    "does_compare": ("compare with another pass", "与另一次比较"),
    "does_loop": ("play again and again", "循环播放"),
    "does_scale": ("color gradients by their size", "按大小给梯度着色"),
    "does_search": ("find a node", "查找节点"),
    "does_zoom": ("one level down or larger, one level up or smaller", "下一层或放大、上一层或缩小"),
    "does_fit": ("show all", "显示全部"),
    "does_open": ("open the group that is selected", "展开所选的组"),
    "does_fold": ("fold what the selected node is made from", "折叠所选节点的来源"),
    "does_repeats": ("fold until all is seen, open everything", "折叠到能看见全部、全部展开"),
    "does_help": ("this list", "这个列表"),
    "does_back": ("back: close, put back, unselect, leave", "返回：关闭、还原、取消选择、离开"),
    "close": ("Close (Esc)", "关闭（Esc）"),
    "mark_leaf": ("leaf: you made it, and it gets a .grad", "叶子节点：由你创建，会得到 .grad"),
    "mark_op": ("operation; name of its node below", "运算；下面是节点的名字"),
    "mark_tensor": ("computed value; in italics where it has no name", "计算出的值；没有名字时用斜体"),
    "mark_output": ("result, where the pass begins", "结果，反向传播从这里开始"),
    "mark_constant": ("constant: no gradient goes there", "常量：没有梯度"),
    "mark_saved": ("a tensor saved for the backward pass", "为反向传播保存的张量"),
    "mark_freed": ("it was freed after use", "用后已释放"),
    "mark_arriving": ("what has arrived so far: 0 of 2 gradients", "目前到达的梯度：2 个中的 0 个"),
    "mark_bead": ("a sum that waits for all its terms", "等待所有项到齐的和"),
    "mark_broadcast": ("a sum that undoes broadcasting", "还原广播的求和"),
    "mark_flow": ("a gradient on its way back", "反向流动的梯度"),
    "mark_forward": ("a value on its way forward", "正向流动的值"),
    "mark_group": ("several operations; a click opens them", "多个运算；点击展开"),
    "nudge": ("Nudge {name}", "微调 {name}"),
    "nudge_hint": (
        "Drag, or use the arrow keys: what would change? Your tensors stay as they are.",
        "拖动或用方向键：会有什么变化？你的张量不会被改变。",
    ),
    "nudge_grab": ("Drag {name}'s number: what would change?", "拖动 {name} 的数字：会有什么变化？"),
    "nudge_back": ("Put everything back (Esc)", "全部还原（Esc）"),
    "nudge_linear": ("linear prediction", "线性预测"),
    "nudge_true": ("computed again", "重新计算"),
    "nudge_only_linear": (
        "Linear prediction, by the recorded gradients: computing again needs a running kernel and a traced graph.",
        "按记录的梯度作线性预测：重新计算需要正在运行的内核和带追踪的计算图。",
    ),
    "nudge_result": (
        "{root}: {predicted} predicted, {true} computed again",
        "{root}：预测 {predicted}，重新计算 {true}",
    ),
    "nudge_predicted": ("{root}: {predicted} predicted", "{root}：预测 {predicted}"),
    "nudge_grad": ("∂{root}/∂{name} there: {value}", "那里的 ∂{root}/∂{name}：{value}"),
}

# What Python says.
PYTHON: dict[str, tuple[str, str]] = {
    "bead": ("a sum of {n} gradients: it waits until all have come", "{n} 个梯度之和：等所有项到齐"),
    "moves_gradient": ("each element of {name} gets its gradient", "{name} 的每个元素得到各自的梯度"),
    "op_words": ("{op}: {sends}", "{op}：{sends}"),
    "sends_number": ("{root} changes {value} times as fast as {name}", "{root} 的变化是 {name} 的 {value} 倍"),
    "sends_same": ("{root} changes as fast as {name}", "{root} 与 {name} 变化得一样快"),
    "sends_none": ("{root} does not change with {name}", "{root} 不随 {name} 变化"),
    "sends_part": ("{name} gets {value} of its gradient by this way", "{name} 经这里得到梯度中的 {value}"),
    "waits_for": ("{name} waits for {count} more", "{name} 还要等 {count} 项"),
    "summed_up": ("all gradients of {name} have come: {sum}", "{name} 的梯度已到齐：{sum}"),
    "leaf_ends": (
        "{name} has all its gradients of this pass: what has arrived is added to {name}.grad.",
        "{name} 在这次传播中的梯度已到齐：到达的梯度加到 {name}.grad 上。",
    ),
}
