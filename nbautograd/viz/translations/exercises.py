"""Translate the texts of exercises."""

from __future__ import annotations

__all__ = ["TEXTS"]

TEXTS: dict[str, tuple[str, str]] = {
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
