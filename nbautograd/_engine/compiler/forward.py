"""Generation of an operation's function: straight-line source code for this operation, from its declaration.

Generated code calls the array of the tensor ``input`` ``input_array``, and the edge to it ``input_edge``. The names
that it calls are in ``compiler/runtime.py``. ``nbautograd.library.source(torch.mul)`` shows it.
"""

from __future__ import annotations

import ast
import itertools
import math
from typing import Any

from nbautograd._engine.arrays.size import MAX_INT64, MIN_INT64
from nbautograd._engine.compiler.argument_errors import USUAL, options_of, public_name
from nbautograd._engine.compiler.elementwise import constant, constants_as_arrays, indented, single_call
from nbautograd._engine.compiler.expressions import specialized
from nbautograd._engine.compiler.lowering import lower_to_ufuncs
from nbautograd._engine.compiler.schema import NUMPY_NAMES, POINTWISE, TILED, UPCAST, VIEW, OpSchema, array_name, slot
from nbautograd._engine.compiler.source import copied, expression_of, parsed

OPERATOR, TEMPORARY_VIEW = "operator", "temporary view"
"""Function variants: for special methods such as ``__add__``; for views that are used once, inside a formula."""
FORMER = ("former_1", "former_2")
"""Parameters used only by calls in a former order: see ``compiler/argument_kinds.py``."""
NAME_OPERATION = "except CAUGHT as error: name_operation(OP, error); raise"
"""The end of a ``try`` that checks shapes and dtypes."""


class ForwardWriter:
    """A writer of the source of one operation's function, line by line.

    :param traced: report each call to the tracer.
    :param half: for float16 and bfloat16: compute in float32, and round.
    :param device: for arrays on a device with its own kernels.
    :param function_variant: ``OPERATOR``, ``TEMPORARY_VIEW``, or "" for the function itself.
    """

    def __init__(
        self, op: OpSchema, traced: bool, half: bool = False, function_variant: str = "", device: bool = False
    ) -> None:
        self.op, self.traced, self.device = op, traced, device
        self.rest = [f"*{op.rest}"] if op.rest else []
        # Formulas give no sizes to tensors of no dimension; Tensor.view() checks itself.
        self.needed = "" if op.name == "view" else f", input.dim() and {op.name!r}"
        self.half = half
        self.function_variant = function_variant
        # An operator takes only operands, so that its options are known.
        self.fixed = op.option_defaults() if function_variant == OPERATOR and op.takes_operands_only else None
        self.arrays = {name: array_name(name) for name in op.tensors}
        self.first_array = next(iter(self.arrays.values()), "")
        self.saved = {name: f"{name}_saved" for name in op.tensors} if half else self.arrays  # not the widened ones
        self.edges = {name: f"{name}_edge" for name in op.inputs}
        self.is_fast = op.kind == POINTWISE and len(op.tensors) < 3 and op.takes_floats
        self.sets_tiled_node = False  # True if the branch for large arrays has chosen the node

    def lines(self) -> list[str]:
        """Return the whole function."""
        body = self.check_arguments() if self.fixed is None else [f"{n} = {v!r}" for n, v in self.fixed.items()]
        if self.device:
            arrays = [self.arrays.get(name, name) for name in (*self.op.positional, *self.op.keywords)]
            names = f"{', '.join(self.arrays.values())}, input_meta, node_class"
            body += self.load_promoted(f"{names} = promote_on_device")  # a kernel widens half precision itself
            body += [f"try: result_array = compute_tiled(OP, None, {', '.join(arrays)})", NAME_OPERATION]
        elif self.half:
            body += [*self.load_half(), *self.compute()]
        else:
            body += self.load_pointwise() if self.op.kind == POINTWISE else self.load_plain()
            body += self.compute()
        body += self.record()
        return [f"def {self.op.name}({self.signature()}):", *indented(body)]

    def check_arguments(self) -> list[str]:
        """Write lines that check the arguments."""
        op = self.op
        body = [
            f"if {NUMPY_NAMES[dim]} is not None: {dim} = one_of({dim}, {NUMPY_NAMES[dim]}, OP, {dim!r})"
            for dim in op.numpy_names
        ]
        if "dim" in op.numpy_names and op.required_dim:
            body.append(f"if dim is None: raise TypeError(\"{public_name(op)}() missing 1 required argument: 'dim'\")")
        if op.former:
            arguments = ", ".join((*op.positional, *FORMER[: len(op.former)]))
            body.append(f"if {FORMER[0]} is not ...: return call_former(OP, ({arguments}){', out' * op.has_out})")
        for name, _, hint, at_sight in options_of(op.body):
            if (usual := USUAL.get(hint.removesuffix(" | None"))) is not None:
                usual += f" or not {MIN_INT64} <= ? <= {MAX_INT64}" * (hint[:3] == "int") * (int not in at_sight)
                unlike = f"({usual})".replace("?", name) + (f" and {name} is not None" if "None" in hint else "")
                is_factor = name == "alpha" and hint == "Number" and op.kind == POINTWISE
                operands = f", None, ({', '.join(op.tensors)},)" * is_factor
                check = f"check_option({public_name(op)!r}, {name!r}, {name}, {hint!r}{operands})"
                body.append(f"if {unlike}: {name} = {check}")
        if op.rest:
            given = f"_rest if {op.rest} is None else by_name({op.rest}, {op.rest!r}, _rest)"
            body.append(f"{op.rest} = sizes({given}, {op.rest!r}{self.needed})")
        if op.has_out:
            body.append(f"if out is not None: return write_into_out(OP, out, {self.call()})")
        return body

    def signature(self) -> str:
        """Return the parameters, with None for any default."""
        op = self.op
        if self.fixed is not None:
            return ", ".join(op.tensors)
        first_default = len(op.positional) - len(op.body.__defaults__ or ())
        parts = [name + ("=None" if i >= first_default else "") for i, name in enumerate(op.positional)]
        if op.required_dim:  # later parameters also get a default; a missing one is reported on use
            for i in range(op.positional.index("dim"), first_default):
                parts[i] = f"{op.positional[i]}=None"
        parts += [f"{name}=None" for name in FORMER[: len(op.former)]]
        keywords = [f"{name}=None" for name in op.keywords] + ["out=None"] * op.has_out
        keywords += [f"{NUMPY_NAMES[name]}=None" for name in op.numpy_names]
        if op.rest:
            parts += ["*_rest", f"{op.rest}=None"]
        elif keywords:
            parts.append("*")
        return ", ".join(parts + keywords)

    def call(self) -> str:
        """Return the original arguments, to call the function again."""
        return self.op.passed({})

    def options(self) -> str:
        """Return a tuple of the arguments after the first, for replaying a view (views have no keyword-only ones)."""
        return "(" + "".join(f"{name}, " for name in [*self.op.positional[1:], *self.rest]) + ")"

    def refuse(self) -> str:
        """Return the statement that raises the TypeError for a wrong argument."""
        op = self.op
        args = ", ".join([*op.positional, *self.rest])
        keywords = ", ".join(f"{name!r}: {name}" for name in op.keywords)
        refuse = "not_implemented_or_raise" if self.function_variant == OPERATOR else "refuse_or_offer"
        return f"return {refuse}(OP, ({', '.join(op.tensors)},), ({args},), {{{keywords}}})"

    # -- loading the inputs: the array and the edge of each ------------------------------------------------------------

    def load(self, name: str) -> list[str]:
        """Write lines that load the array of the tensor ``name``, and its edge if it is differentiable."""
        array, edge = self.arrays[name], self.edges.get(name)
        if edge is None:
            return [f"{array} = {name}._a"]
        return [f"{array} = {name}._a; {edge} = {name}._fn", f"if {edge} is LEAF: {edge} = {name}"]

    def load_or(self, name: str, otherwise: str) -> list[str]:
        """Write these lines for a parameter that need not be a tensor."""
        none = f"{self.edges[name]} = None; " if name in self.edges else ""
        return [
            f"if isinstance({name}, Tensor):",
            *indented(self.load(name)),
            f"else: {none}{self.arrays[name]} = {otherwise}",
        ]

    def load_any(self, name: str) -> list[str]:
        """Write these lines for any parameter."""
        op, array, edge = self.op, self.arrays[name], self.edges.get(name)
        if name in op.lists:
            return [f"{array} = [t._a for t in {name}]" + (f"; {edge} = [edge_of(t) for t in {name}]" if edge else "")]
        if name in op.numbers:
            return self.load_or(name, name)
        if name in op.optional:
            unset = f"if {name} is None: {f'{edge} = ' if edge else ''}{array} = None"
            return [unset, "else:", *indented(self.load(name))]
        return self.load(name)

    def load_plain(self) -> list[str]:
        """Write lines that load the arrays unchanged."""
        op = self.op
        lines = ["try:", *indented(itertools.chain(*map(self.load_any, op.tensors)))]
        lines.append(f"except (AttributeError, TypeError): {self.refuse()}")
        single = [self.arrays[name] for name in op.tensors if name not in op.lists]
        if len(single) > 1:
            classes = f"{single[0]}.__class__ is not {single[1]}.__class__"
            lines.append(f"if {classes}: check_devices(OP, ({', '.join(single)},))")
        first = op.tensors[0] if op.tensors else ""
        array = self.first_array
        if op.accepts != "bifc":
            kinds = op.accepts.replace("i", "iu").replace("f", "fV")
            lines.append(f"if {array}.dtype.kind not in {kinds!r}: refuse_dtype(OP, {first})")
        if op.half_policy == UPCAST and not self.half and first and first not in (*op.numbers, *op.optional):
            is_half = f"{array}.itemsize == 2 and {array}.dtype.kind in 'fV'"
            lines.append(f"if {is_half}: return half_variant()({self.call()})")
        if op.kind == VIEW:
            lines.append(f"if {array}.__class__ is not ndarray: {array} = {first}._shared_array()")
        return lines

    def load_pointwise(self) -> list[str]:
        """Write the fast path for inputs of one real floating dtype; ``promote`` handles all others."""
        op = self.op
        names = ", ".join(op.tensors)
        slow = f"{', '.join(self.arrays.values())}, input_meta, node_class = promote(OP, ({names},), True)"
        if not self.is_fast:
            return self.load_slowly(slow)
        first = op.tensors[0]
        lines = ["input_meta = None; node_class = Backward" if op.formulas else "input_meta = None", "try:"]
        lines += indented(self.load(first))
        lines.append(f"    {first}_class = {self.first_array}.__class__")
        lines += indented(self.load_second(slow) if len(op.tensors) == 2 else self.check_dtype(slow))
        lines.append("except (AttributeError, TypeError):")
        if len(op.tensors) == 2 and first in op.numbers:
            lines += indented(self.load_number_first(slow))
        else:
            lines.append(f"    {self.refuse()}")
        return [*lines, *self.exits()]

    def exits(self) -> list[str]:
        """Write the ``except`` clauses of the ``try`` in which operands are promoted and broadcast."""
        lines = [
            f"except HalfPrecision: return half_variant()({self.call()})",
            f"except OnDevice: return device_variant()({self.call()})",
        ]
        if len(self.op.tensors) > 1:
            lines.append(NAME_OPERATION)
        return lines

    def load_slowly(self, slow: str) -> list[str]:
        """Write the slow path: lines that call ``promote``."""
        op = self.op
        lines = [line for name in op.tensors for line in self.load_or(name, name)]
        strict = [name for name in op.tensors if name not in op.numbers]
        return [
            *lines,
            *(f"if not isinstance({name}, Tensor): {self.refuse()}" for name in strict),
            "try: " + slow,
            f"except TypeError: {self.refuse()}",
            *self.exits(),
        ]

    def check_dtype(self, slow: str) -> list[str]:
        """Write lines that check the only operand, which is loaded."""
        first, array = self.op.tensors[0], self.first_array
        return [
            f"if {first}_class is ndarray:",
            f"    dtype_of_all = {array}.dtype",
            f"    if dtype_of_all is not F32 and dtype_of_all is not F64: {slow}",
            f"elif {first}_class is not float32 and {first}_class is not float64: {slow}",
        ]

    def load_second(self, slow: str) -> list[str]:
        """Write lines that load the second of two operands, and check it against the first, which is loaded."""
        op = self.op
        (first, second), (a, b) = op.tensors, self.arrays.values()
        array_or_scalar = f"{second}_class is ndarray or {second}_class is float32 or {second}_class is float64"
        return [
            f"if isinstance({second}, Tensor):",
            *indented(self.load(second)),
            f"    {second}_class = {b}.__class__",
            f"    if {first}_class is ndarray:",
            f"        dtype_of_all = {a}.dtype",
            f"        alike = {array_or_scalar}",
            f"        if alike and {b}.dtype is dtype_of_all and (dtype_of_all is F32 or dtype_of_all is F64):",
            f"            if {a}.shape != {b}.shape:",
            f"                input_meta = unbroadcast_spec({a}.shape, {b}.shape, dtype_of_all)",
            f"        else: {slow}",
            f"    elif {first}_class is float32 or {first}_class is float64:",
            f"        if {second}_class is not {first}_class:",
            f"            if {second}_class is ndarray and {b}.dtype is {a}.dtype:",
            f"                input_meta = unbroadcast_spec((), {b}.shape, {b}.dtype)",
            f"            else: {slow}",
            f"    else: {slow}",
            "else:",
            f"    {self.edges[second]} = None" if second in self.edges else "    pass",
            *([] if second in op.numbers else ["    raise TypeError"]),
            f"    {b} = number_like({second}, {first}_class, {a})",
            f"    if {b} is None: {slow}",
        ]

    def load_number_first(self, slow: str) -> list[str]:
        """Write lines for a number first and a tensor second, as in ``torch.mul(2, x)``."""
        first = self.op.tensors[0]
        edges = "; ".join(
            f"{edge} = None" if name == first else f"{edge} = edge_of({name})" for name, edge in self.edges.items()
        )
        return [
            f"if isinstance({first}, Tensor): {self.refuse()}",
            f"{first}_class = None",
            "try:",
            *([f"    {edges}"] if edges else []),
            f"    {slow}",
            f"except (AttributeError, TypeError): {self.refuse()}",
            *self.exits(),
        ]

    def load_half(self) -> list[str]:
        """Write lines that load ``input_array`` in float32, the original ``input_saved``, and the dtype to round to."""
        computed = ", ".join(self.arrays.values())
        saved = ", ".join(self.saved.values())
        if self.op.kind == POINTWISE:
            return self.load_promoted(f"{computed}, {saved}, input_meta, rounded_dtype = promote_half")
        widened = f"{computed}, input_meta, rounded_dtype = widen_all(OP, ({computed},))"
        return [*self.load_plain(), f"{saved}, = {computed},", widened]

    def load_promoted(self, promote: str) -> list[str]:
        """Write lines that load and promote the operands."""
        op = self.op
        lines = [line for name in op.tensors for line in self.load_or(name, name)]
        promote += f"(OP, ({', '.join(op.tensors)},))"
        return [*lines, promote] if len(op.tensors) == 1 else [*lines, f"try: {promote}", NAME_OPERATION]

    # -- computing the result ------------------------------------------------------------------------------------------

    def compute(self) -> list[str]:
        """Write lines that compute ``result_array``: tile by tile if it is large and the body lowers to ufuncs."""
        op = self.op
        tree = expression_of(op.body)
        if tree is not None:
            tree = specialized(tree, self.arrays, self.fixed)
        lines = self.compute_whole(copied(tree))
        tiled, guard = self.tiled_expression(tree)
        if tiled is None:
            return lines
        size = f"{self.first_array}.size >= MIN_TILED_SIZE"
        if len(op.tensors) == 2:
            _, b = self.arrays.values()
            size = f"({size} or input_meta is not None and {b}.size >= MIN_TILED_SIZE)"
        self.sets_tiled_node = not guard
        return [
            f"if {op.tensors[0]}_class is ndarray and {size}{guard}:",
            f"    result_array = compute_tiled(OP, {tiled!r}, {', '.join(self.arrays.values())})",
            *([f"    if node_class is Backward: node_class = OP.node({TILED!r})"] if op.formulas else []),
            "else:",
            *indented(lines),
        ]

    def compute_whole(self, tree: ast.expr | None) -> list[str]:
        """Write lines that compute ``result_array`` at once."""
        op = self.op
        if tree is None:
            tree = parsed(f"body({op.passed(self.arrays)})")
        numbers: dict[str, float] = {}
        if op.kind == POINTWISE and not self.half:
            tree = constants_as_arrays(tree, {self.first_array, *map(array_name, op.formula_arrays)}, numbers)
        expression = ast.unparse(tree)
        loads = [constant(name, value, self.first_array) for name, value in numbers.items()]
        if op.kind == VIEW:
            return [f"try: result_array = {expression}", NAME_OPERATION]
        if not self.half and (call := single_call(tree, self.first_array)) is not None:
            return [
                *loads,
                f"try: result_array = quietly({call})",
                f"except RuntimeError: result_array = run_quietly({call})",
            ]
        if self.half:
            one = f"round_to({expression}, rounded_dtype)"
            expression = f"[round_to(part, rounded_dtype) for part in {expression}]" if op.many else one
        return [
            *loads,
            "old_errstate = get_quiet()",
            f"try: set_quiet(SILENT); result_array = {expression}",
            NAME_OPERATION,
            "finally: set_quiet(old_errstate)",
        ]

    def tiled_expression(self, tree: ast.expr | None) -> tuple[str | None, str]:
        """Return the expression for large arrays, if the body can be lowered, and its condition on the options."""
        op = self.op
        if tree is None or self.half or not self.is_fast:
            return None, ""
        names = [*self.arrays.values()]
        scope = {name: value for name, value in op.body.__globals__.items() if name not in op.positional}
        if lower_to_ufuncs(tree, names, scope) is not None:
            return ast.unparse(tree), ""
        options = op.option_defaults() if self.fixed is None else None
        if not options or not all(map(_has_literal, options.values())):
            return None, ""
        usual = specialized(copied(tree), {}, options)  # such as alpha=1: the expression of the operator
        if lower_to_ufuncs(usual, names, scope) is None:
            return None, ""
        return ast.unparse(usual), "".join(f" and {_is(name, value)}" for name, value in options.items())

    # -- recording it --------------------------------------------------------------------------------------------------

    def record(self) -> list[str]:
        """Write lines that make the tensor, and the node if a gradient may be needed."""
        op = self.op
        if op.many:
            return self.record_many()
        lines = ["output = new(Tensor); output._a = result_array"]
        unrecorded = "output._fn = None; return output"
        if op.kind == VIEW and self.function_variant != TEMPORARY_VIEW:
            lines.append(f"edge = register_view(output, {op.tensors[0]}, body, OP.function, {self.options()})")
            unrecorded = "output._fn = edge; return output"
        if not op.formulas:
            return [*lines, "output._fn = None; return output"]
        lines.append(f"if {self.unrecorded()}: {unrecorded}")
        if op.kind == POINTWISE and not (self.half or self.device or self.sets_tiled_node):
            is_large = "result_array.__class__ is ndarray and result_array.size >= MIN_TILED_SIZE"
            lines.append(f"if {is_large} and node_class is Backward: node_class = OP.node({TILED!r})")
        lines += ["node = output._fn = " + self.node_class() + "()", *self.save()]
        if self.traced:
            lines.append(self.trace("output"))
        return [*lines, "return output"]

    def record_many(self) -> list[str]:
        """Write lines that make several tensors and their node."""
        op = self.op
        lines = [
            "outputs = []",
            "for part in result_array:",
            "    output = new(Tensor); output._a = part; output._fn = None; outputs.append(output)",
        ]
        if op.kind == VIEW:
            replay = "ViewOfOutput(body, position), ViewOfOutput(OP.function, position)"
            lines.append("    position = len(outputs) - 1")
            lines.append(f"    output._fn = register_view(output, {op.tensors[0]}, {replay}, {self.options()})")
        if op.formulas:
            lines += [
                f"if not ({self.unrecorded()}):",
                f"    node = {self.node_class()}()",
                *indented(self.save()),
                "    node.count = len(outputs)",
                "    for position, output in enumerate(outputs):",
                "        if output._a.dtype.kind in INEXACT: output._fn = OutputEdge(node, position)",
            ]
            if self.traced:
                lines.append(f"    {self.trace('outputs[0]')}")
        return [*lines, "return tuple(outputs)"]

    def unrecorded(self) -> str:
        """Return the condition under which nothing is recorded."""
        op = self.op
        wanted = [
            f"{edge} is None" if name not in op.lists else f"all(e is None for e in {edge})"
            for name, edge in self.edges.items()
        ]
        return f"{' and '.join(wanted)} or not is_grad_enabled()"

    def node_class(self) -> str:
        """Return the name of the class of the node."""
        if self.half:
            return "HalfBackward"
        if self.op.kind == POINTWISE:
            return "node_class"
        if self.op.real_only or any("conj" in text for text in self.op.formulas.values()):
            result = "result_array[0]" if self.op.many else "result_array"
            return f"(ComplexBackward if {result}.dtype.kind == 'c' else Backward)"
        return "Backward"

    def save(self) -> list[str]:
        """Write lines that fill the node: its edges, the saved values, its number."""
        op = self.op
        if op.many_edges:
            parts = [f"*{edge}" if name in op.lists else edge for name, edge in self.edges.items()]
            lines = [f"node.all_edges = ({', '.join(parts)},); node.next0 = node.next1 = None"]
        else:
            both = [*self.edges.values(), "None"][:2]
            lines = [f"node.next0 = {both[0]}; node.next1 = {both[1]}"]
        needs, names = op.saves(), {**self.saved, "result": "result_array"}
        for what in sorted(set().union(*needs.values())):
            value = op.value_of(what, names)
            # Kept only if a requested gradient needs it.
            wanted = [self.edges[name] for name, uses in needs.items() if what in uses]
            if not op.lists and len(wanted) < len(self.edges) and "." not in what:
                value += f" if {' is not None or '.join(wanted)} is not None else None"
            lines.append(f"node.{slot(what)} = {value}")
        meta = "input_meta" if op.kind == POINTWISE or self.half else "None"
        return [*lines, f"node.input_meta = {meta}; node.extras = None", "node._seq = next_sequence_nr()"]

    def trace(self, output: str) -> str:
        """Return the line that reports the call to the tracer."""
        op = self.op
        named = [(name, name) for name in (*op.positional, *op.keywords)] + ([(op.rest, op.rest)] if op.rest else [])
        pairs = ", ".join(f"({label!r}, {value})" for label, value in named)
        return f"trace_call(node, {output}, ({pairs},))"


def _has_literal(value: Any) -> bool:
    return value.__class__ is not float or math.isfinite(value)


def _is(name: str, value: Any) -> str:
    if value is None or value.__class__ is bool:
        return f"{name} is {value!r}"
    return f"{name}.__class__ is {type(value).__name__} and {name} == {value!r}"
