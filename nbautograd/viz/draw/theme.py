"""The colors, light and dark, and the fonts, as CSS custom properties.

Text has a contrast of at least 4.5 : 1 to its background and lines with a meaning have 3 : 1 (WCAG 2.2 AA); a
test computes both, also on the backgrounds of JupyterLab and VS Code, which a player takes over. Blue, violet and
orange stay apart for all usual kinds of color blindness, and nothing is told by color alone. One accent, orange,
means gradients.
"""

from __future__ import annotations

import re

from nbautograd.viz.escape import escape

__all__ = [
    "DARK", "DARK_OF", "FOLLOWS", "LIGHT", "MIN_FONT_PX", "MONO", "MONO_MARKUP", "PAINT", "PATHS", "SANS",
    "SANS_MARKUP", "STILL", "adaptive", "css", "darkened",
]  # fmt: skip


def _shades(zero: str, minus: str, plus: str, value: str) -> dict[str, str]:
    sides = {"tile-minus": minus, "tile-plus": plus, "value": value}
    colors = {f"{name}-{i}": color for name, each in sides.items() for i, color in enumerate(each.split(), 1)}
    return {"tile-zero": zero, **colors}


LIGHT = {
    "bg": "#ffffff", "fg": "#1f2328", "muted": "#5b6672", "line": "#d0d7de", "wire": "#818d99",
    "leaf": "#0a5fb4", "leaf-bg": "#eaf3fd", "op": "#424a53", "op-bg": "#f6f8fa", "out": "#7a45d1", "out-bg": "#f4efff",
    "grad": "#b83a08", "grad-bg": "#fff1e6", "done": "#d5702c", "on-grad": "#ffffff",
    "bad": "#b3123f", "bad-bg": "#ffe9ef", "panel": "#fbfcfd",
    "size-0": "#818d99", "size-1": "#a5846b", "size-2": "#d5702c", "size-3": "#a8203a", "size-4": "#5b0a4e",
    "teal": "#0f766e", "ochre": "#8a6100", "indigo": "#1d4ed8",
    **_shades(
        "#f1f3f5",
        "#dee6f1 #cbd9ec #b9cde7 #a7c0e2 #94b3dd #82a6d7 #709ad2 #5e8dcc",
        "#f0e3e0 #eed2ca #ebc2b5 #e8b1a1 #e4a08c #df9077 #da7f62 #d56d4c",
        "#e3e5e8 #d5d8dc #c7cbcf #b9bec3 #abb1b7 #9ea4ab #91979f #848b93",
    ),
}  # fmt: skip
DARK = {
    "bg": "#111418", "fg": "#e6edf3", "muted": "#9aa4af", "line": "#343b44", "wire": "#6b7682",
    "leaf": "#6cb6ff", "leaf-bg": "#12263b", "op": "#c2cad3", "op-bg": "#1b2129", "out": "#c4a7ff", "out-bg": "#241a3a",
    "grad": "#ff9b57", "grad-bg": "#3a2213", "done": "#c4743f", "on-grad": "#1a0d04",
    "bad": "#ff8fab", "bad-bg": "#3d1422", "panel": "#151a20",
    "size-0": "#6b7682", "size-1": "#a88d78", "size-2": "#c4743f", "size-3": "#ff6f7d", "size-4": "#f9a8f0",
    "teal": "#4fc9bb", "ochre": "#dcb14a", "indigo": "#5b7cff",
    **_shades(
        "#232a33",
        "#263241 #293a50 #2b425f #2e4a6e #30527e #325a8e #34639e #366baf",
        "#323035 #413636 #513c36 #604137 #704737 #804c36 #905134 #a05632",
        "#29313a #303841 #373f49 #3d4650 #444d58 #4c555f #535c67 #5a646f",
    ),
}  # fmt: skip

PATHS = ("leaf", "ochre", "out", "teal", "bad", "op")
"""The colors of paths; they repeat after the last."""

_FROM_HOST = "var(--jp-layout-color0, var(--vscode-editor-background, {}))"
"""The background that a player takes from the notebook around it, so that it matches."""

SANS = (
    "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', "
    "sans-serif"
)
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace"
SANS_MARKUP, MONO_MARKUP = escape(SANS), escape(MONO)
"""The fonts in an attribute of SVG."""
MIN_FONT_PX = 11.0  # of a text, at a size of 100 %

_DARK_HOSTS = (
    'body[data-jp-theme-light="false"]', "body.vscode-dark",
    "body.vscode-high-contrast:not(.vscode-high-contrast-light)",
    'html[data-theme="dark"]', 'html[theme="dark"]', 'body[data-theme="dark"]',
)  # fmt: skip
_LIGHT_HOSTS = (
    'body[data-jp-theme-light="true"]', "body.vscode-light", "body.vscode-high-contrast-light",
    'html[data-theme="light"]', 'html[theme="light"]', 'body[data-theme="light"]',
)  # fmt: skip


def css(selector: str = ".nb-player") -> str:
    """Return the color rules: the system's choice first, then the setting of JupyterLab, VS Code or the page.

    A choice of the user's (``data-nb-theme``) comes last and takes over nothing from the notebook.
    """
    rules = [
        f"{selector} {{ --nb-sans: {SANS}; --nb-mono: {MONO}; }}",
        _rule(selector, LIGHT, "light"),
        f"@media (prefers-color-scheme: dark) {{\n{_rule(selector, DARK, 'dark')}\n}}",
        _rule(",\n".join(f"{host} {selector}" for host in _LIGHT_HOSTS), LIGHT, "light", follow=True),
        _rule(",\n".join(f"{host} {selector}" for host in _DARK_HOSTS), DARK, "dark", follow=True),
        _rule(f':is(html, body, div, main)[data-nb-theme="light"] {selector}', LIGHT, "light"),
        _rule(f':is(html, body, div, main)[data-nb-theme="dark"] {selector}', DARK, "dark"),
        "@media print {",
        _rule(f":is(html, body, div):is(html, body, div) {selector}{selector}", LIGHT, "light"),
        "}",
    ]
    return "\n".join(rules)


def _rule(selector: str, colors: dict[str, str], scheme: str, follow: bool = False) -> str:
    taken = ("bg", "panel") if follow else ()
    values = {name: _FROM_HOST.format(color) if name in taken else color for name, color in colors.items()}
    properties = " ".join(f"--nb-{name}: {color};" for name, color in values.items())
    return f"{selector} {{ color-scheme: {scheme}; {properties} }}"


def darkened(svg: str) -> str:
    """A drawing in the dark colors instead of the light ones.

    >>> darkened('<rect fill="#ffffff" stroke="#d0d7de"/>')
    '<rect fill="#111418" stroke="#343b44"/>'
    """
    return PAINT.sub(lambda m: f'{m[1]}="{DARK_OF.get(m[2], m[2])}"', svg)


PAINT = re.compile(r'(fill|stroke|stop-color)="(#[0-9a-f]{6})"')
"""A color of a drawing, and the attribute that has it."""
DARK_OF = {LIGHT[name]: DARK[name] for name in reversed(LIGHT) if not name.startswith("on-")}
"""The dark color for each light one."""
STILL = "color-scheme:light"
"""The style of an ``<img>`` that may be dark; light is the default."""
_STILLS = ", ".join(f'{host} img[style*="{STILL}"]' for host in _DARK_HOSTS)
FOLLOWS = f"@media screen {{ {_STILLS} {{ color-scheme: dark !important; }} }}"
"""The rule that makes them dark in a dark notebook. A player and a live view bring it; a still picture has no rules."""


def adaptive(svg: str) -> str:
    """A drawing that takes the dark colors where it is shown as an image whose ``color-scheme`` is dark.

    >>> adaptive('<svg><rect fill="#ffffff"/></svg>')
    '<svg><style>@media (prefers-color-scheme:dark){[fill="#ffffff"]{fill:#111418}}</style><rect fill="#ffffff"/></svg>'
    """
    paints = sorted({paint for paint in PAINT.findall(svg) if paint[1] in DARK_OF})
    rules = "".join([f'[{what}="{color}"]{{{what}:{DARK_OF[color]}}}' for what, color in paints])
    start = svg.index(">") + 1
    return f"{svg[:start]}<style>@media (prefers-color-scheme:dark){{{rules}}}</style>{svg[start:]}"
