"""What exercises say."""

from __future__ import annotations

__all__ = ["TEXTS"]

TEXTS: dict[str, tuple[str, str]] = {
    "exercise_right": ("Exercise {number}: right", "练习 {number}：正确"),
    "exercise_wrong": ("Exercise {number}: not yet. {fault}", "练习 {number}：还不对。{fault}"),
    "exercise_untried": (
        "Exercise {number}: not tried yet. Put your answer in place of the dots and run both cells again.",
        "练习 {number}：还没有做。把省略号换成你的答案，再运行这两个单元格。",
    ),
    "exercise_dots": (
        "{open} of {of} answers are still dots.",
        "{of} 个答案中还有 {open} 个是省略号。",
    ),
    "exercise_raised": ("{kind}: {text} (in: {line})", "{kind}：{text}（出错的一行：{line}）"),
    "exercise_score": ("{solved} of {of} exercises solved.", "{of} 道练习中完成了 {solved} 道。"),
    "exercise_is_right": ("right", "正确"),
    "exercise_is_wrong": ("not yet", "还不对"),
    "exercise_is_untried": ("not tried yet", "还没有做"),
}
