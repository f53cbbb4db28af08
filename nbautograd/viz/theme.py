"""The colours, light and dark, as CSS custom properties.

Text has a contrast of at least 4.5 : 1 to what is behind it and lines that mean something have 3 : 1 (WCAG 2.2 AA); a
test computes both. Blue, violet and orange stay apart for all usual kinds of colour blindness, and nothing is told by
colour alone. One accent, orange, means gradients.
"""

from __future__ import annotations

__all__ = ["DARK", "LIGHT", "MONO", "SANS", "css"]

LIGHT = {
    "bg": "#ffffff", "fg": "#1f2328", "muted": "#5b6672", "line": "#d0d7de", "wire": "#8c98a4",
    "leaf": "#0a5fb4", "leaf-bg": "#eaf3fd", "op": "#424a53", "op-bg": "#f6f8fa", "out": "#7a45d1", "out-bg": "#f4efff",
    "grad": "#b83a08", "grad-bg": "#fff1e6", "done": "#d5702c", "on-grad": "#ffffff",
    "bad": "#b3123f", "bad-bg": "#ffe9ef", "panel": "#fbfcfd",
}  # fmt: skip
DARK = {
    "bg": "#111418", "fg": "#e6edf3", "muted": "#9aa4af", "line": "#343b44", "wire": "#6b7682",
    "leaf": "#6cb6ff", "leaf-bg": "#12263b", "op": "#c2cad3", "op-bg": "#1b2129", "out": "#c4a7ff", "out-bg": "#241a3a",
    "grad": "#ff9b57", "grad-bg": "#3a2213", "done": "#c4743f", "on-grad": "#1a0d04",
    "bad": "#ff8fab", "bad-bg": "#3d1422", "panel": "#151a20",
}  # fmt: skip

SANS = (
    "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', "
    "sans-serif"
)
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace"

_DARK_HOSTS = (
    'body[data-jp-theme-light="false"]', "body.vscode-dark", "body.vscode-high-contrast", 'html[data-theme="dark"]',
    'html[theme="dark"]', 'body[data-theme="dark"]', '[data-nb-theme="dark"]',
)  # fmt: skip
_LIGHT_HOSTS = (
    'body[data-jp-theme-light="true"]', "body.vscode-light", 'html[data-theme="light"]', 'html[theme="light"]',
    'body[data-theme="light"]', '[data-nb-theme="light"]',
)  # fmt: skip


def css(selector: str = ".nb-player") -> str:
    """The rules that set the colours: the system's choice first, then what JupyterLab, VS Code or a page say."""
    return "\n".join(
        [
            _rule(selector, LIGHT, "light"),
            "@media (prefers-color-scheme: dark) {",
            _rule(f"{selector}", DARK, "dark"),
            "}",
            _rule(",\n".join(f"{host} {selector}" for host in _LIGHT_HOSTS), LIGHT, "light"),
            _rule(",\n".join(f"{host} {selector}" for host in _DARK_HOSTS), DARK, "dark"),
        ]
    )


def _rule(selector: str, colours: dict[str, str], scheme: str) -> str:
    properties = " ".join(f"--nb-{name}: {colour};" for name, colour in colours.items())
    return f"{selector} {{ color-scheme: {scheme}; {properties} --nb-sans: {SANS}; --nb-mono: {MONO}; }}"
