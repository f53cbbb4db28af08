"""Test the extension in a real IPython shell: loading, unloading, the magics, and their messages for bad input."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests import needs

needs.package("IPython")
from IPython.core.error import TryNext, UsageError

import nbautograd as nb
from nbautograd import protocol
from nbautograd._engine.core import tracing
from nbautograd._engine.core.tensor import Tensor
from nbautograd.viz import Picture, settings

CELL = """
import nbautograd as torch
w = torch.tensor([1.], requires_grad=True)
x = torch.tensor([2.], requires_grad=True)
a = torch.add(w, x)
b = torch.add(w, 1)
y = torch.mul(a, b)
"""


@pytest.fixture
def shell(app):
    app.run_line_magic("load_ext", "nbautograd")
    app.run_cell(CELL, store_history=True).raise_error()
    app.display_formatter.formatters["text/html"].enabled = True  # as in a notebook
    yield app
    if "nbautograd" in app.extension_manager.loaded:
        app.run_line_magic("unload_ext", "nbautograd")


def run(shell, code):
    result = shell.run_cell(code, store_history=True)
    result.raise_error()
    return result.result


def test_graph_shows_names_values_and_lines(shell):
    picture = run(shell, "%graph y")
    text = repr(picture)
    assert "y = a × b" in text and "a = w + x" in text and "b = w + 1" in text
    assert "6." in text and "In [" in text
    assert "<svg" in picture.svg and picture.svg == run(shell, "%graph y").svg  # the same on every run


def test_graph_of_an_expression_and_of_several(shell):
    assert "SumBackward0" in repr(run(shell, "%graph (w * x).sum()"))
    assert "AddBackward0" in repr(run(shell, "%graph a, b"))
    assert run(shell, "%graph -t --no-values y").svg


@needs.dot
def test_graph_by_graphviz(shell):
    needs.package("graphviz")
    svg = run(shell, "%graph --dot y").svg
    assert "MulBackward0" in svg and "href" not in svg and "<!--" not in svg


def test_backward_accumulates_and_plays(shell):
    animation = run(shell, "%backward y")
    assert shell.user_ns["w"].grad.item() == 5
    assert "3. via b + 2. via a" in repr(animation)
    with pytest.raises(RuntimeError, match="a second time"):
        run(shell, "%backward y")
    assert shell.user_ns["w"].grad.item() == 5


def test_backward_options(shell):
    run(shell, "%backward --retain-graph y")
    run(shell, "%backward --inputs x y")
    assert (shell.user_ns["w"].grad.item(), shell.user_ns["x"].grad.item()) == (5, 4)
    run(shell, "v = torch.tensor([1., 10.]); z = w * torch.tensor([2., 3.])")
    run(shell, "%backward --gradient v z")
    assert shell.user_ns["w"].grad.item() == 37


@pytest.mark.parametrize(
    "line",
    [
        "%backward --gradient torch.tensor([0.1, 1.0]) w * 2",
        "%backward (w * 2) -g torch.tensor([0.1, 1.0], dtype = w.dtype)",
        "%backward -g {')': torch.tensor([0.1, 1.0])}[')'] (w * 2)",
    ],
)
def test_spaces_inside_of_brackets_part_nothing(shell, line):
    run(shell, "w = torch.tensor([1., 2.], requires_grad=True)")
    run(shell, line)
    assert shell.user_ns["w"].grad.tolist() == nb.tensor([0.2, 2.0]).tolist()


def shown(shell, name):
    formatter = shell.display_formatter
    kept, formatter.active_types = formatter.active_types, ["text/plain", "text/html"]
    try:
        return formatter.format(shell.user_ns[name])[0]
    finally:
        formatter.active_types = kept


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("%graph yy", UsageError, "%graph: name 'yy' is not defined; did you mean 'y'?"),
        ("%backward nothing", UsageError, "%backward: name 'nothing' is not defined; tensors here: a, b, "),
        ("%graph 5", UsageError, "%graph needs a tensor, but '5' gives int"),
        ("%graph", UsageError, "%graph needs a tensor: write for example %graph y"),
        ("%backward a, b", UsageError, "%backward needs one tensor, but 'a, b' gives 2"),
        ("%backward x.detach()", RuntimeError, "does not require grad"),
    ],
)
def test_bad_input(shell, line, error, message):
    with pytest.raises(error) as caught:
        run(shell, line)
    assert message in str(caught.value)
    assert shell.user_ns["w"].grad is None and shell.user_ns["x"].grad is None
    run(shell, "(w * 5).backward()")
    assert run(shell, "%grads w").rows[0][2:6] == ("None", "5.", "5.", "1")  # zeroed values are not "before"


def test_layers_are_folded_and_open_by_name(shell):
    run(shell, "from nbautograd import nn, ones\nnet = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))")
    run(shell, "loss = net(ones(3, 2)).sum()")
    groups = lambda line: sum(node.kind == "group" for node in run(shell, line).model.nodes)  # noqa: E731
    assert groups("%graph loss") == 2
    assert groups("%graph --open Linear loss") == 0
    assert groups("%graph --no-fold loss") == 0
    assert groups("%graph --fold --open nothing loss") == 2
    assert [n.kind for n in run(shell, "%backward --fold loss").timeline.scenes[0].nodes].count("group") == 2
    with pytest.raises(UsageError, match="--fold and --no-fold exclude each other"):
        run(shell, "%graph --fold --no-fold loss")
    run(shell, "del net, loss")


def test_display_of_tensors(shell):
    bundle = shown(shell, "y")
    assert bundle["text/plain"] == "tensor([6.], grad_fn=<MulBackward0>)"
    assert (
        "data:image/svg+xml" in bundle["text/html"]
        and "tensor([6.], grad_fn=&lt;MulBackward0&gt;)" in bundle["text/html"]
    )
    bundle = shown(shell, "w")
    assert set(bundle) == {"text/plain"}


def test_a_picture_that_fails_does_not_cost_the_tensor(shell, monkeypatch):
    from nbautograd.viz.notebook import api

    def fail(*args, **kwargs):
        raise ValueError("<b>no</b>")

    monkeypatch.setattr(api, "graph", fail)
    bundle = shown(shell, "y")
    assert "cannot be drawn: ValueError: &lt;b&gt;no&lt;/b&gt;" in bundle["text/html"]


# -- tables and settings -----------------------------------------------------------------------------------------------


def test_code_writes_the_program(shell):
    code = run(shell, "%code y")
    assert "# In [" in code.text and "w_grad = g_w" in code.text and "x = " in code.text
    assert "torch.tensor(" in run(shell, "%code --in torch y").text
    assert "nb-gradient" in shell.display_formatter.format(code)[0]["text/html"]
    with pytest.raises(UsageError):
        run(shell, "%code --in jax y")


def test_grads_counts_passes_and_what_was_added(shell):
    table = run(shell, "%grads")
    assert [row[0] for row in table.rows] == ["w", "x"] and table.rows[0][4:6] == ("None", "0")
    run(shell, "y.backward(retain_graph=True)")
    run(shell, "y.backward()")
    row = run(shell, "%grads w").rows[0]
    assert row[:6] == ("w", "f32 (1,)", "None", "10.", "10.", "2")
    assert run(shell, "%grads y").rows[0][3] == "0."
    assert "<table" in run(shell, "%grads")._repr_html_()


def test_of_a_module_grads_are_those_of_its_parameters(shell):
    run(shell, "net = torch.nn.Linear(2, 1)\nnet(torch.ones(2)).backward()")
    assert [row[:5] for row in run(shell, "%grads net").rows] == [
        ("net.weight", "f32 (1, 2)", "None", "[[1., 1.]]", "[[1., 1.]]"),
        ("net.bias", "f32 (1,)", "None", "1.", "1."),
    ]
    run(shell, "opt = torch.optim.SGD(net.parameters(), lr=0.1)")
    assert [row[0] for row in run(shell, "%grads opt").rows] == ["net.weight", "net.bias"]
    assert [row[3] for row in run(shell, "%zero_grads net, w").rows] == ["set to None", "set to None", "had none"]
    assert shell.user_ns["net"].weight.grad is None


def test_zero_grads(shell):
    run(shell, "y.backward()")
    assert run(shell, "%zero_grads --zeros w").rows == (("w", "5.", "0.", "zeroed now"),)
    assert shell.user_ns["x"].grad is not None
    run(shell, "%zero_grads")
    assert shell.user_ns["w"].grad is None and shell.user_ns["x"].grad is None


def test_settings_by_magic_by_config_and_back(shell):
    before = repr(run(shell, "%autograd"))
    assert "theme" in before and "中文" in before
    assert run(shell, "%autograd --theme dark --language 中文 --values off --tracing off") is None  # no table
    assert (settings.theme, settings.language, settings.values, tracing.is_on()) == ("dark", "zh", False, False)
    run(shell, "%config NBAutograd.theme = 'light'")
    assert settings.theme == "light"
    del shell.config["NBAutograd"]  # the shell keeps it, and would set it again at the next load
    run(shell, "%autograd --language en --theme auto --values on --tracing on")
    assert repr(run(shell, "%autograd")) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%autograd --theme pink", "%autograd --theme: 'pink' does not fit; theme can be auto, light, dark"),
        ("%autograd --language tlh", "%autograd --language: 'tlh' does not fit; language can be en, zh"),
        ("%autograd --depth deep", "%autograd --depth: 'deep' does not fit"),
        ("%autograd --color red", "unrecognized arguments: --color"),
        ("%graph --depth -1 y", "--depth"),
    ],
)
def test_settings_refuse(shell, line, message):
    with pytest.raises(UsageError) as caught:
        run(shell, line)
    assert message in str(caught.value)
    assert settings.theme == "auto"


def test_help_and_completion(shell):
    for name in ("graph", "backward", "code", "grads", "zero_grads", "memory", "why", "path", "diff", "autograd"):
        function = shell.find_line_magic(name)
        assert f"%{name}" in function.__doc__ and "expression" in function.__doc__ or name == "autograd"
    assert {"y", "--no-values", "--depth"} <= set(answers(shell, "%graph "))
    assert {"--retain-graph", "--gradient"} <= set(answers(shell, "%backward "))
    assert answers(shell, "%autograd --theme ") == ["auto", "light", "dark"]
    assert "--language" in answers(shell, "%autograd ")


def answers(shell, line):
    event = SimpleNamespace(line=line, symbol="", command=line.split()[0], text_until_cursor=line)
    found = []
    for completer in shell.strdispatchers["complete_command"].s_matches(line.split()[0]):
        try:
            found += completer(event)
        except TryNext:
            continue
    return found


# -- a traced cell -----------------------------------------------------------------------------------------------------


@pytest.fixture
def displayed(shell, monkeypatch):
    from nbautograd.viz.notebook import magics

    found = []
    monkeypatch.setattr(magics, "display", lambda thing, **options: found.append(thing))
    monkeypatch.setattr(magics, "seen", found.append)
    return found


def test_a_cell_shows_its_graph_and_its_passes(shell, displayed):
    run(shell, "%%autograd\nfor _ in range(2):\n    l = (w * x).sum()\n    l.backward()\nc = w * 5\nc * 2")
    passes, text, drawn = displayed
    assert len([f for f in passes.timeline.frames if f.kind == "start"]) == 2
    assert text == {"text/plain": "tensor([10.], grad_fn=<MulBackward0>)"}
    assert isinstance(drawn, Picture) and "c = w × 5" in drawn.text
    assert f"In [{shell.execution_count - 1}], line 5" in drawn.text  # the first line is the magic's own
    assert shell.user_ns["w"].grad.item() == 4


def test_a_cell_without_a_graph(shell, displayed, capsys):
    assert run(shell, "%%autograd\n1 + 1") == 2
    run(shell, "%%autograd\nz = 3")
    assert "Nothing to show" in capsys.readouterr().out and displayed == []
    assert shell.user_ns["z"] == 3


def test_a_cell_has_its_own_settings(shell, displayed):
    run(shell, "%%autograd --theme dark --language zh\nw * 2")
    assert settings.theme == "auto" and settings.language == "en"


def test_a_cells_settings_hold_for_what_it_shows(shell, monkeypatch):
    from nbautograd.viz.notebook import magics

    shown = []

    def display(thing, **options):
        shown.append((settings.tensors, shell.display_formatter.format(thing)[0].get("text/html", "")))

    monkeypatch.setattr(magics, "display", display)
    assert run(shell, "%%autograd --tensors card\nw * 2") is None
    assert run(shell, "%%autograd --tensors text\nw * 2") is None
    assert [(kind, html.count("<img")) for kind, html in shown] == [("card", 2), ("text", 0)]
    assert settings.tensors == "graph"


def test_an_error_in_a_cell_shows_the_passes_until_then(shell, displayed):
    with pytest.raises(ZeroDivisionError):
        run(shell, "%%autograd\ny.backward()\n1 / 0")
    assert len(displayed) == 1 and displayed[0].timeline.frames[-1].kind == "accumulate"
    with pytest.raises(SyntaxError):
        run(shell, "%%autograd\n1 +")
    assert tracing.is_on()


def test_an_interrupted_cell_leaves_no_observer(shell, displayed):
    from nbautograd import protocol

    result = shell.run_cell("%%autograd --theme dark\ny.backward()\nraise KeyboardInterrupt")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert settings.theme == "auto" and protocol.observers.get() == ()


def test_a_failed_pass_is_shown(shell, displayed, monkeypatch):
    monkeypatch.setattr(shell.display_formatter, "active_types", ["text/plain", "text/html"])
    run(shell, "y.backward()")
    with pytest.raises(RuntimeError, match="second time"):
        run(shell, "%backward y")
    assert displayed[0].timeline.frames[-1].kind == "error"


# -- loading -----------------------------------------------------------------------------------------------------------


def test_a_reload_of_the_module_does_not_register_twice(shell):
    import importlib

    from nbautograd.viz.notebook import magics

    before = len(shell.events.callbacks["pre_run_cell"])
    importlib.reload(magics)
    magics.load(shell)
    assert len(shell.events.callbacks["pre_run_cell"]) == before


def test_loading_twice_and_unloading_leave_nothing(app):
    formatter = app.display_formatter.formatters["text/html"]

    def state():
        kinds = app.magics_manager.magics
        return (
            dict(formatter.type_printers),
            [set(kinds["line"]), set(kinds["cell"])],
            [type(c).__name__ for c in app.configurables],
            {name: list(calls) for name, calls in app.events.callbacks.items()},
            set(app.strdispatchers["complete_command"].strs),
            (tracing.is_on(), protocol.observers.get(), repr(settings)),
        )

    before = state()
    app.run_line_magic("load_ext", "nbautograd")
    nb.load_ipython_extension(app)
    assert tracing.is_on() and Tensor in formatter.type_printers
    app.run_line_magic("reload_ext", "nbautograd")
    app.run_line_magic("unload_ext", "nbautograd")
    nb.unload_ipython_extension(app)
    assert state() == before


def test_the_librarys_errors_are_shown_by_the_users_lines(shell, capsys):
    run(shell, "def f():\n    (w.reshape(1) * torch.ones(3)).backward()")
    capsys.readouterr()
    assert not shell.run_cell("f()").success
    shown = capsys.readouterr().out
    assert ".backward()" in shown and "implicitly created only for scalar outputs" in shown
    assert "engine.py" not in shown and "autograd/backward.py" not in shown
    assert not shell.run_cell("%backward w.reshape(1) * torch.ones(3)").success
    shown = capsys.readouterr().out
    assert "magics.py" not in shown and "api.py" not in shown
    assert not shell.run_cell("1 / 0").success
    assert "ZeroDivisionError" in capsys.readouterr().out
    shell.run_line_magic("unload_ext", "nbautograd")
    assert shell.custom_exceptions == ()
