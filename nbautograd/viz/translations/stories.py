"""Translate the sentence of each family of operations on the elements of a gradient. ``{name}`` is the input."""

from __future__ import annotations

__all__ = ["PLAYER"]

PLAYER: dict[str, tuple[str, str]] = {
    "story_sum": ("A sum passes the same number on to every element.", "求和把同一个数传给每个元素。"),
    "story_mean": (
        "A mean passes the same number on to every element: 1/n of the upstream.",
        "求平均把同一个数传给每个元素：上游的 1/n。",
    ),
    "story_softmax": (
        "Softmax s: sent[i] = s[i] · (upstream[i] − Σ upstream · s). If one share grows, the others shrink.",
        "Softmax s：送出[i] = s[i] ·（上游[i] − Σ 上游 · s）。一个份额增大，其余减小。",
    ),
    "story_log_softmax": (
        "With s = softmax: sent[i] = upstream[i] − s[i] · Σ upstream.",
        "记 s = softmax：送出[i] = 上游[i] − s[i] · Σ 上游。",
    ),
    "story_cross_entropy": (
        "With nll this is cross-entropy: (softmax − one-hot label) · weight of the row, 1/n for a mean.",
        "与 nll 合起来就是交叉熵：（softmax − one-hot 标签）· 该行的权重，取平均时为 1/n。",
    ),
    "story_nll": (
        "Only the element of each row's label is read: it gets −1 times the upstream, −1/n for a mean. Others get 0.",
        "每行只读取标签对应的元素：它得到上游的 −1 倍，取平均时为 −1/n；其余得到 0。",
    ),
    "story_winner": ("Only the winner gets the gradient; the others get 0.", "只有胜出的元素得到梯度，其余得到 0。"),
    "story_winner_so_far": (
        "Each result is the best so far: that element gets its gradient, summed over all places where it led.",
        "每个结果是到此为止最好的元素：它得到这些位置的梯度之和。",
    ),
    "story_winner_of_window": (
        "Only the winner of each window gets its gradient; who wins several windows gets the sum.",
        "每个窗口只有胜出的元素得到梯度；在多个窗口胜出则求和。",
    ),
    "story_share_of_window": (
        "Each element of a window gets an equal share, summed over the windows it is in.",
        "窗口中的每个元素得到相等的一份，并对它所在的窗口求和。",
    ),
    "story_convolution": (
        "This element was in these windows: for each, upstream × the number of the kernel that it met.",
        "这个元素处在这些窗口中：每个窗口贡献 上游 × 与它相乘的卷积核数值。",
    ),
    "story_convolution_weight": (
        "This number of the kernel met one element in each window: for each, upstream × that element.",
        "卷积核的这个数在每个窗口与一个元素相乘：每个窗口贡献 上游 × 该元素。",
    ),
    "story_norm": (
        "Upstream minus its mean, minus the part along the normalized values, divided by the deviation.",
        "上游减去其均值，再减去沿规范化数值方向的部分，除以标准差。",
    ),
    "story_norm_weight": (
        "Upstream × normalized values, summed over all elements that {name} scales.",
        "上游 × 规范化后的数值，对 {name} 缩放的所有元素求和。",
    ),
    "story_bias": (
        "{name} was added at every place: the sum of the upstream of all places.",
        "{name} 被加到每个位置：各处上游之和。",
    ),
    "story_embedding": (
        "A row gets the sum of the upstream of all places that looked it up; a row that was not looked up gets 0.",
        "每一行得到所有查到它的位置的上游之和；没有被查到的行得到 0。",
    ),
    "story_taken": (
        "An element gets the sum of the upstream of all places it was copied to; one that was not copied gets 0.",
        "元素得到它被取到的所有位置的上游之和；没有被取到的得到 0。",
    ),
    "story_part": (
        "The selected elements get their gradients, each at its place; the others get 0.",
        "取出的部分在原位置得到梯度，其余得到 0。",
    ),
    "story_sorted": (
        "Each gradient goes back to the place from which its element was sorted.",
        "每个梯度回到元素排序之前的位置。",
    ),
    "story_masked": ("0 where the value was replaced; elsewhere the upstream.", "被替换的位置为 0，其余为上游的值。"),
    "story_positive": (
        "Where the input is above 0, the upstream; elsewhere 0.",
        "输入大于 0 的位置传出上游的值，其余为 0。",
    ),
    "story_above": (
        "Where the input is above the threshold, the upstream; elsewhere 0.",
        "输入高于阈值的位置传出上游的值，其余为 0。",
    ),
    "story_dropped": (
        "0 for elements that were dropped; the others are scaled as in the forward pass.",
        "被丢弃的元素为 0，其余按前向传播时的比例缩放。",
    ),
    "story_masked_value": (
        "{name} was written to these places: the sum of their upstream.",
        "{name} 被写到这些位置：它们的上游之和。",
    ),
    "story_side": (
        "Each element goes to the side from which it was taken; the other side gets 0.",
        "每个元素回到它被取自的一侧，另一侧得到 0。",
    ),
    "story_clamped": ("0 where the value was held at a limit.", "数值被限制在边界的位置为 0。"),
    "story_piece": ("{name} gets back its own piece.", "{name} 取回属于自己的那一块。"),
    "story_overwritten": (
        "0 where {name} was overwritten; elsewhere the upstream.",
        "{name} 被覆盖的位置为 0，其余为上游的值。",
    ),
    "story_written": ("{name} gets the upstream of the places it was written to.", "{name} 得到它被写入的位置的上游。"),
    "story_added_at": ("{name} gets the upstream of the places it was added to.", "{name} 得到它被加到的位置的上游。"),
    "story_repeated": (
        "{name} was repeated: the sum of the upstream of all its copies.",
        "{name} 被重复：所有副本的上游之和。",
    ),
    "story_padded": ("The upstream of the padding is left out.", "填充部分的上游被去掉。"),
    "story_padded_copies": (
        "The padding holds copies: an element gets the sum of the upstream of its place and of its copies.",
        "填充的是副本：元素得到自身与副本的上游之和。",
    ),
    "story_folded": (
        "Each element was added at one place: it gets the upstream of that place.",
        "每个元素被加到一个位置：得到该处的上游。",
    ),
    "story_running_sum": (
        "An element is part of this sum and of all later ones: the sum of their upstream.",
        "元素在这一个及之后所有的和里：对它们的上游求和。",
    ),
    "story_running_product": (
        "An element is part of this product and of all later ones: for each, upstream × the other factors.",
        "元素在这一个及之后所有的积里：每个贡献 上游 × 其余因子。",
    ),
    "story_running_share": (
        "For this place and all later ones: upstream × the element's share of the sum.",
        "对这一个及之后所有位置：上游 × 元素在和中所占的份额。",
    ),
    "story_product": ("Upstream × the product of all other elements.", "上游 × 其余所有元素的积。"),
    "story_share": ("Upstream × the element's share, its softmax.", "上游 × 元素所占的份额，即 softmax。"),
    "story_length": (
        "Upstream × the element divided by the length, for the 2-norm: along {name}.",
        "对 2-范数：上游 × 元素 ÷ 长度，即沿 {name} 的方向。",
    ),
    "story_spread": (
        "In proportion to the distance from the mean: the farthest element gets the most.",
        "与离均值的距离成比例：离得越远得到越多。",
    ),
    "story_attention": (
        "softmax(q kᵀ) v in one operation: v gets the shares times upstream; q and k get theirs through the softmax.",
        "一个运算算出 softmax(q kᵀ) v：v 得到份额乘上游，q 和 k 得到经过 softmax 的部分。",
    ),
    "story_weights": (
        "Each result is a weighted mean of its neighbors: upstream × the weight, summed over the results.",
        "每个结果是相邻元素的加权平均：上游 × 权重，对各结果求和。",
    ),
    "story_grid": ("How much each result changes when {name} moves, × upstream.", "{name} 移动时各结果的变化 × 上游。"),
    "story_distance": (
        "How each distance grows with this coordinate (if p = 2: difference ÷ distance) × upstream, summed over pairs.",
        "每个距离随该坐标的变化率（p = 2 时：差 ÷ 距离）× 上游，对各对求和。",
    ),
    "story_gate": (
        "One half of {name} gets upstream × gate, the other upstream × value × slope of the gate.",
        "{name} 的一半得到 上游 × 门，另一半得到 上游 × 值 × 门的斜率。",
    ),
    "story_fourier": (
        "Each element is part of every frequency: the sum over all of them.",
        "每个元素出现在每个频率里：对所有频率求和。",
    ),
    "story_outer": (
        "Row i, column j: upstream[i] × element j of the vector.",
        "第 i 行第 j 列：上游[i] × 向量的第 j 个元素。",
    ),
    "story_matrix_vector": (
        "Element j: column j of the matrix with upstream, Σ matrix[i, j] × upstream[i].",
        "第 j 个元素：矩阵第 j 列与上游之积的和，Σ 矩阵[i, j] × 上游[i]。",
    ),
    "story_places": ("Elements only change their place: each derivative is 1.", "元素只是换了位置：每个导数都是 1。"),
    "story_places_some": (
        "Elements go to places of the result as they are: the derivative is 1 where one went, and 0 everywhere else.",
        "元素原样放到结果的某些位置：放到的地方导数为 1，其余为 0。",
    ),
    "story_matrix": (
        "Each element is a sum of products: a row of one matrix times a column of the other.",
        "每个元素是一些乘积之和：一个矩阵的一行乘另一个矩阵的一列。",
    ),
    "story_elementwise": ("Each element is multiplied by its own local derivative.", "每个元素乘以自己的局部导数。"),
    "story_all": (
        "The sum of upstream × local derivative, over all elements that depend on this one.",
        "对所有依赖于这个元素的结果求和：上游 × 局部导数。",
    ),
}
