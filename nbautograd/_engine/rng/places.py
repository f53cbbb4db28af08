"""Find where the numbers of the gamma distribution begin in the stream of uniform numbers, which attempts decide.

Each number takes attempts from the stream until one is accepted: with alpha below 1 first a uniform number, its boost;
for an attempt a normal number, which two uniform ones give in pairs, so that every second attempt uses what the one
before has left; and one uniform number, unless y, that is 1 + slope * x, is below 0. So where an attempt begins depends
on all rejections before it.

Without a rejection it depends on the boosts alone. For every place of a part of the stream :func:`_doubtful` finds, in
single precision, the width from which on an attempt there would be accepted; those that may be rejected are visited in
order, and only if they are on the way.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.rng.rejection import Numbers

Array = np.ndarray[Any, Any]
Recipe = tuple[Array, list[Array]]  # of samples: the arguments of ``gamma._samples``
SQUEEZE = float(np.float32(0.0331))  # PyTorch's constants of the gamma distribution have the precision of float32
TILE_SIZE = 1 << 15  # samples whose places are found at a time
_BELOW, _ABOVE = 0.995, 1.005  # a width is certainly below or above a threshold from here on
_MIN_WIDE = 1e4  # from this width on, rounding errors decide about an attempt: it is computed as PyTorch does

# An attempt is accepted from the width x**4 / -log(u) * factor on, a function of q = 3 sqrt(-log u) / x, which is here
# for q from -4 to 2 in steps of 1 / 256. Its inverse: y = 1 + s, and q**2 = s - 1.5 - 3 (log(1 + s) - s) / s**2.
_S = np.linspace(-0.9999, 6, 2000)
_Q = np.copysign(np.sqrt(np.maximum(_S - 1.5 - 3 * (np.log1p(_S) - _S) / _S**2, 0)), _S)
_FACTORS = (np.interp(np.arange(-4, 2, 1 / 256), _Q, _Q / _S) ** 2 / 81).astype(np.float32)


def _normal_pair(uniform: Array, place: int) -> tuple[float, float]:
    """Return the two normal numbers that the two uniform ones there give, as PyTorch's."""
    # Like PyTorch, the math module uses the C library's logarithm; NumPy's own may differ in the last bit.
    radius, angle = math.sqrt(-2 * math.log1p(-uniform.item(place + 1))), 2 * math.pi * uniform.item(place)
    return radius * math.cos(angle), radius * math.sin(angle)


def _attempt(x: float, uniform: float, width: float, slope: float) -> int:
    """Return -1 if a normal number gives a sample, otherwise how many uniform numbers its attempt takes: 1 or 0."""
    y = 1 + slope * x
    if y <= 0:
        return 0
    u, v, square = 1 - uniform, y * y * y, x * x
    if u < 1 - SQUEEZE * square * square or math.log(u) < 0.5 * square + width * (1 - v + math.log(v)):
        return -1
    return 1


def plain(columns: Sequence[Array], numbers: Numbers, least: int) -> tuple[Recipe, float | None]:
    """Find numbers of some of the first alphas, all from 1 on, while no normal number is left from before.

    Pairs of attempts are four places apart, whether they are rejected or not, until a y is below 0.

    :param columns: for each number whether alpha is below 1, the exponent of its boost, the width and the slope.
    :param least: how many uniform numbers are certain to be used.
    :returns: what the numbers are made of, and the normal number left.
    """
    wanted = len(columns[0])
    widths, slopes = (column[:TILE_SIZE] for column in columns[2:])
    n = len(widths)
    rejections = 0.035 * float((1 / widths).sum())
    size = min(least, int(2 * (n + rejections) + 6 * math.sqrt(rejections)) + 16)
    uniform = numbers.ahead(size)[:size]
    last = size - 5  # place of a pair
    runs, begins, rejected = _plain_runs(uniform, widths, slopes)
    run, begin = runs[-1], begins[-1]
    # The attempts of all runs: where their pairs begin, and whether they are the first of these.
    count = run + max(0, 2 * ((last - begin) // 4 + 1))
    lengths = np.diff([*runs, count])
    steps = np.arange(count) - np.repeat(runs, lengths)
    pairs = np.repeat(begins, lengths) + (steps & -2) * 2
    accepted = np.ones(count, bool)
    accepted[rejected] = False
    drawn = np.flatnonzero(accepted)[:n]
    kept = None
    used = begin + 2 * (count - run)
    if len(drawn) == n:
        number = int(drawn[-1])
        used = pairs.item(number)
        if steps[number] & 1:
            used += 4
            k = bisect_left(runs, number)
            if runs[k : k + 1] == [number + 1]:  # with a y below 0
                used = begins[k]
        elif wanted > n:
            drawn = drawn[:-1]  # so that its pair is not left
        else:
            kept = _normal_pair(uniform, used)[1]
            used += 3
    n = len(drawn)
    numbers.use(used)
    is_first = (steps[drawn] & 1) == 0
    return (uniform, [pairs[drawn], is_first, np.ones(n), *(column[:n] for column in columns[1:])]), kept


def _plain_runs(uniform: Array, widths: Array, slopes: Array) -> tuple[list[int], list[int], list[int]]:
    """Find the runs of attempts four places apart.

    :returns: the number of the first attempt of each, the place of its pair, and the numbers of rejected attempts.
    """
    n, last = len(widths), len(uniform) - 5
    single = uniform.astype(np.float32)
    width_of = widths.data  # a memoryview, for single elements
    # Pairs may begin at every place if a y below 0 comes often.
    step = 1 if widths.min() < 1.3 else 4
    found: dict[int, tuple[list[int], list[float]]] = {}
    run, begin = 0, 0
    runs, begins = [run], [begin]
    rejected: list[int] = []
    is_running = True
    while is_running:
        group, start, is_running = begin % step, 2 * begin, False
        if group not in found:
            keys, thresholds, _ = _doubtful(single, group, step, widths)
            found[group] = keys.tolist(), thresholds.tolist()
        first = bisect_left(found[group][0], start)
        for key, threshold in zip(*(part[first:] for part in found[group]), strict=True):
            ahead = key - start
            if ahead & 6 or ahead < 0:
                continue
            number = run + (ahead >> 3 << 1 | ahead & 1)
            i = number - len(rejected)
            if i >= n:
                break
            width = width_of[i]
            if threshold * _ABOVE < width < _MIN_WIDE:
                continue
            if width < threshold * _BELOW and width < _MIN_WIDE:
                rejected.append(number)
                continue
            place, is_second, slope = key >> 1, key & 1, slopes.item(i)
            pair, following = _normal_pair(uniform, place), place + 2 + is_second
            taken = _attempt(pair[is_second], uniform.item(following), width, slope)
            if taken >= 0:
                rejected.append(number)
            if taken == 0:
                if not is_second:
                    taken = _attempt(pair[1], uniform.item(following), width, slope)
                    if taken >= 0:
                        rejected.append(number + 1)
                    following += abs(taken)
                run, begin, start = number - is_second + 2, following, 2 * following
                runs.append(run)
                begins.append(begin)
                if begin % step != group:
                    is_running = begin <= last
                    break
    return runs, begins, rejected


def boosted(
    columns: Sequence[Array], numbers: Numbers, least: int, pending: float | None
) -> tuple[Recipe, float | None, float | None]:
    """Find numbers of some of the first alphas, as :func:`plain`, but some alphas are below 1.

    :param pending: the boost of the first of them, if it is drawn already.
    :returns: what the numbers are made of, the normal number left, and the boost of the next one if drawn already.
    """
    wanted = len(columns[0])
    is_boosted, exponents, widths, slopes = (column[:TILE_SIZE] for column in columns)
    n = len(widths)
    # Where the pair of an element begins if nothing is rejected: of its own, or if it is the second of a pair, of that.
    own = np.cumsum(is_boosted)
    own += np.arange(0, 2 * n, 2)
    shared = own - is_boosted - 2
    rejections = 0.035 * float((1 / widths).sum())
    size = min(least, int(own[-1] + 2 * rejections + 6 * math.sqrt(rejections)) + 16)
    uniform = numbers.ahead(size)[:size]
    last = size - 5  # place of a pair
    # Runs without a rejection: the element that each begins with, or whose attempt before was rejected, and how far it
    # is moved; the elements that a run's pairs begin with are even in each second run, odd in the others. Of rejected
    # attempts, some were the first of a pair, and the second was accepted: their elements and pairs. Where the last run
    # begins: the element, its place, and whether it was rejected before.
    start = -int(pending is not None)
    runs, shifts, seconds, second_pairs, (element, used, is_begun) = _boosted_runs(uniform, columns, own, start)
    # Up to which element there are enough numbers, and where the next one begins.
    parity = len(runs) - 1 & 1
    end = max(int(np.searchsorted(own, last - shifts[-1], "right")), element)
    end += element < end < n and end & 1 != parity
    end -= element < end == n < wanted and n & 1 != parity  # so that its pair is not left
    pairs, is_first, boosts = _boosted_places(own, shared, runs, shifts)
    pairs[seconds], is_first[seconds] = second_pairs, False
    kept = carried = None
    if element < end == n:
        used = int(pairs[n - 1]) + 3
        if is_first[n - 1]:
            kept = _normal_pair(uniform, used - 3)[1]
        else:
            used += 1 + int(is_boosted[n - 1])
    elif element < end:
        used = int(pairs[end]) - int(is_boosted[end])
    elif is_begun and is_boosted[end]:
        carried = pending if boosts[end] < 0 else uniform.item(boosts[end])
    base = np.ones(end)
    which = np.flatnonzero(is_boosted[:end])
    base[which] -= uniform[boosts[which]]
    if pending is not None:
        base[:1] = 1 - pending
    numbers.use(used)
    made_of = [column[:end] for column in (pairs, is_first, base, exponents, widths, slopes)]
    return (uniform, made_of), kept, carried


def _boosted_places(own: Array, shared: Array, runs: list[int], shifts: list[int]) -> tuple[Array, Array, Array]:
    """Return for each element where its pair begins, whether it is the first to use it, and where its boost is."""
    n = len(own)
    lengths = np.diff([*runs, n])
    is_first = (np.arange(n) + np.repeat(np.arange(len(runs)), lengths)) & 1 == 0
    pairs = np.where(is_first, own, shared) + np.repeat(shifts, lengths)
    boosts = pairs + np.where(is_first, -1, 3)
    if len(runs) > 1:  # boosts of rejected ones were in the run before
        starts = np.array(runs)
        run = np.flatnonzero(starts[1:] != starts[:-1] if runs[1] else np.append(True, starts[2:] != starts[1:-1]))
        rejected = starts[run + 1]
        before = np.where(rejected + run & 1 == 0, own[rejected] - 1, shared[rejected] + 3)
        boosts[rejected] = before + np.array(shifts)[run]
    return pairs, is_first, boosts


def _layouts(own: Array, is_boosted: Array, size: int) -> tuple[list[bytes], Array]:
    """Return where attempts begin without a rejection, and for each place the element whose pair begins there.

    For four times a place, plus the kind of an attempt as in :func:`_doubtful`, whether one begins there: for pairs
    that begin with an element of even and of odd number.
    """
    n = len(own)
    length = max(size, int(own[-1])) + 2
    layouts = []
    for parity in (0, 1):
        layout = np.zeros(4 * length, bool)
        layout[4 * own[parity::2]] = True
        pair = own[parity : n - 1 : 2]
        layout[4 * pair + 1 + is_boosted[parity + 1 :: 2]] = True
        layouts.append(layout.tobytes())
    elements = np.empty(length, np.int32)
    elements[own] = np.arange(n)
    return layouts, elements


def _boosted_runs(
    uniform: Array, columns: Sequence[Array], own: Array, shift: int
) -> tuple[list[int], list[int], list[int], list[int], tuple[int, int, bool]]:
    """Find the runs of elements without a rejection.

    :param own: where the pair of each element begins without one.
    :param shift: how far the first run is moved: by -1 if the boost of its first element is drawn already.
    """
    is_boosted, _, widths, slopes = (column[:TILE_SIZE] for column in columns)
    n = len(widths)
    single = uniform.astype(np.float32)
    keys, thresholds, bounds = _doubtful(single, 0, 1, widths, is_boosted)
    layouts, elements = _layouts(own, is_boosted, len(uniform))
    element_at, width_of = elements.data, widths.data  # memoryviews, for single elements
    runs, shifts = [0], [shift]
    seconds: list[int] = []
    second_pairs: list[int] = []
    element, following, is_begun = 0, 0, shift < 0
    moved, (layout_, other) = 4 * shift, layouts
    for key, threshold in zip(keys.tolist(), thresholds.tolist(), strict=True):
        if not layout_[key - moved] or key < 4 * following:
            continue
        place, kind = key >> 2, key & 3
        i = element_at[place - shift] + (kind > 0)
        width = width_of[i]
        if threshold * _ABOVE < width < _MIN_WIDE:
            continue
        after = place + kind + 3
        if not width < threshold * _BELOW or width >= _MIN_WIDE:
            x = _normal_pair(uniform, place)[kind > 0]
            taken = _attempt(x, uniform.item(after - 1), width, slopes.item(i))
            if taken < 0:
                continue
            after += taken - 1
        element, following, is_begun = i, after, True
        runs.append(i)
        if kind:
            shift += following - place - kind - 1
        elif following == place + 3 and single.item(following) > bounds.item(place):
            taken = -1
        else:
            x = _normal_pair(uniform, place)[1]
            taken = _attempt(x, uniform.item(following), width, slopes.item(i))
        if not kind:
            following += abs(taken)
            shift += following - place
            if taken < 0:
                shift -= 2
                element, is_begun = i + 1, False
                seconds.append(i)
                second_pairs.append(place)
                if element == n:
                    shifts.append(shift)
                    break
            else:
                runs.append(i)
                shifts.append(shift)
                layout_, other = other, layout_
        shifts.append(shift)
        moved = 4 * shift
        layout_, other = other, layout_
    return runs, shifts, seconds, second_pairs, (element, following, is_begun)


def _doubtful(
    single: Array, begin: int, step: int, widths: Array, is_boosted: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return the attempts that may be rejected, if pairs of normal numbers may begin at these places.

    :param single: the uniform numbers in single precision.
    :param begin: the first place.
    :returns: the number of a place, times four, plus which attempt of the pair it is: 0 the first, 1 the second, 2 the
        second with a boost before (times two without boosts); the width below which it is rejected, or nan where it
        has to be computed; and for each place a bound: with a uniform number above it every second attempt succeeds.
    """
    least, widest, kinds = min(float(widths.min()), _MIN_WIDE), float(widths.max()), 2 if is_boosted is None else 4
    end = len(single) - 4
    places = [slice(begin + k, end + k, step) for k in range(5)]
    radius = np.log1p(-single[places[1]])
    radius *= np.float32(-2)
    np.sqrt(radius, out=radius)
    angle = single[places[0]] * np.float32(2 * math.pi)
    normals = np.cos(angle) * radius, np.sin(angle) * radius
    if len(far := np.flatnonzero(radius > 4.9)):  # single precision has few digits of these: they are computed
        normals[0][far] = normals[1][far] = -1e3
    bounds = [normal * normal for normal in normals]
    for bound in bounds:
        bound *= bound
        bound *= np.float32(1.001 * SQUEEZE)  # above 1, too, if y may be below 0
        bound += np.float32(1e-9)
    flags = np.zeros((len(angle), kinds), bool)
    np.less(single[places[2]], bounds[0], out=flags[:, 0])
    if is_boosted is None or not is_boosted.all():
        np.less(single[places[3]], bounds[1], out=flags[:, 1])
    if is_boosted is not None:
        np.less(single[places[4]], bounds[1], out=flags[:, 2])
    keys = np.flatnonzero(flags)
    row, kind = keys >> kinds // 2, keys & kinds - 1
    if step > 1:
        keys = kinds * (begin + step * row) + kind
    x = np.where(kind == 0, normals[0][row], normals[1][row])
    logs = np.log1p(-single[row * step + (kind + begin + 2)])
    square = x * x
    q = np.sqrt(-9 * logs) / x  # with the uniform number 0, not a number
    q = np.minimum(np.maximum(q, -4, out=q), 1.99, out=q)
    thresholds = square * square / -logs * _FACTORS[(q * 256 + 1024.5).astype(np.int32)]
    # Where y may be below 0, or single precision has few digits.
    thresholds[(x < -2.99 * math.sqrt(least)) | (square < 4e-4) | (logs < -11)] = math.nan
    unclear = ~(thresholds < least * _BELOW)
    if widest >= _MIN_WIDE:
        unclear |= -logs < 2e-6 * square * square + 1e-15 * widest
    kept = np.flatnonzero(unclear)
    return keys[kept], thresholds[kept], bounds[1]
