"""n: measure the cost of watching: a training step with tracing off, off after it was on, and on."""

from __future__ import annotations

from measuring import Ratio, in_turn, ratios
from workloads import Program, every

STEPS = 100  # for each switch of tracing, which takes a moment itself


def overhead(rounds: int) -> dict[str, Ratio]:
    """A step of c, over the same step with tracing off: traced, and the pair of untraced ones for comparison."""
    from nbautograd._engine.core import tracing

    step = next(workload for workload in every() if workload.key == "c").makers["nbautograd"]

    def repeated(program: Program, on: bool) -> Program:
        def run() -> tuple[()]:
            with tracing.traced(on):
                for _ in range(STEPS):
                    program()
            return ()

        return run

    programs = {"off": repeated(step(), False), "on": repeated(step(), True), "off again": repeated(step(), False)}
    times = in_turn(programs, rounds, 1)
    return {
        name: ratios({"nbautograd": times[name], "off": times["off"]}, {"off": goal})["off"]
        for name, goal in (("on", 1.3), ("off again", 1.03))
    }
