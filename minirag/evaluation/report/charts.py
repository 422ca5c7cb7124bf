"""Plots as SVG, without a script or a plotting library: lines and points on linear or logarithmic axes.

Colours and line styles are classes of `report.css`, so that a plot follows the page into a dark theme. Every series has
its own marker besides its colour, and every point says its value when it is pointed at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from minirag.pages import Markup, element, join

WIDTH, HEIGHT = 380, 256
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 14, 12, 46
COLOURS = 8
_RADIUS = 4.2


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one set of points.

    Attributes:
        name: For the legend.
        points: x and y, in the order in which they are joined.
        is_published: Somebody else's figures: hollow and dashed.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    is_published: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        label: What it shows, with its unit.
        is_logarithmic: Powers of ten at equal distances; all values must be above 0.
        ticks: Where it is labelled; None finds some.
        starts_at_zero: Whether it begins there; otherwise near the smallest value.
    """

    label: str
    is_logarithmic: bool = False
    ticks: tuple[float, ...] | None = None
    starts_at_zero: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One plot.

    Attributes:
        title: Above it.
        note: Below it, may be empty.
        x: The horizontal axis.
        y: The vertical axis.
        series: At least one with a point.
        is_joined: Whether a series' points are joined by a line.
    """

    title: str
    note: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    is_joined: bool = True


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to places on the picture."""

    place: Callable[[float], float]
    ticks: tuple[float, ...]


def draw(chart: Chart) -> Markup:
    """A figure: title, plot, legend, note."""
    parts = [element("h3", chart.title), _plot(chart), _legend(chart.series)]
    if chart.note:
        parts.append(element("figcaption", chart.note, class_="quiet"))
    return element("figure", *parts, class_="chart")


# --- the picture ---------------------------------------------------------------------------------------------------


def _plot(chart: Chart) -> Markup:
    xs = [x for series in chart.series for x, _ in series.points]
    ys = [y for series in chart.series for _, y in series.points]
    across = _scale(chart.x, xs, _LEFT, WIDTH - _RIGHT)
    up = _scale(chart.y, ys, HEIGHT - _BOTTOM, _TOP)
    marks = (_series(number, series, chart, across, up) for number, series in enumerate(chart.series))
    return element(
        "svg",
        *_grid(chart, across, up),
        *marks,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{chart.title}: {chart.y.label} against {chart.x.label}",
    )


def _grid(chart: Chart, across: _Scale, up: _Scale) -> Iterable[Markup]:
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    for tick in up.ticks:
        y = round(up.place(tick), 1)
        yield element("line", x1=_LEFT, x2=right, y1=f"{y}", y2=f"{y}", class_="grid")
        yield _text(_LEFT - 6, y + 4, _number(tick), "end")
    for tick in across.ticks:
        x = round(across.place(tick), 1)
        yield element("line", x1=f"{x}", x2=f"{x}", y1=bottom, y2=bottom + 4, class_="axis")
        yield _text(x, bottom + 18, _number(tick), "middle")
    yield element("line", x1=_LEFT, x2=right, y1=bottom, y2=bottom, class_="axis")
    yield _text((_LEFT + right) / 2, HEIGHT - 6, chart.x.label, "middle", class_="label")
    yield element(
        "text",
        chart.y.label,
        transform=f"translate(12 {(_TOP + bottom) / 2}) rotate(-90)",
        text_anchor="middle",
        class_="label",
    )


def _series(number: int, series: Series, chart: Chart, across: _Scale, up: _Scale) -> Markup:
    places = [(across.place(x), up.place(y)) for x, y in series.points]
    parts = []
    if chart.is_joined and len(places) > 1:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(element("polyline", points=line, class_="line"))
    for (x, y), (value_x, value_y) in zip(places, series.points, strict=True):
        told = f"{series.name}: {chart.x.label} {_number(value_x)}, {chart.y.label} {_number(value_y)}"
        parts.append(_marker(number, x, y, element("title", told)))
    return element("g", *parts, class_=_class_of(number, series))


def _marker(number: int, x: float, y: float, *children: Markup) -> Markup:
    """A circle, square, triangle or diamond."""
    r = _RADIUS
    shapes = (
        f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z",
        f"M{x:.1f} {y - r - 1:.1f}l{r + 1} {2 * r}h{-2 * (r + 1)}z",
        f"M{x:.1f} {y - r - 1.5:.1f}l{r + 1.5} {r + 1.5}l{-r - 1.5} {r + 1.5}l{-r - 1.5} {-r - 1.5}z",
    )
    return element("path", *children, d=shapes[number % len(shapes)], class_="mark")


def _legend(series: Sequence[Series]) -> Markup:
    items = []
    for number, each in enumerate(series):
        picture = element(
            "svg",
            element("g", _marker(number, 8, 8), class_=_class_of(number, each)),
            viewBox="0 0 16 16",
            aria_hidden="true",
        )
        items.append(element("li", picture, each.name))
    return element("ul", *items, class_="legend")


def _class_of(number: int, series: Series) -> str:
    return f"series published s{number % COLOURS}" if series.is_published else f"series s{number % COLOURS}"


def _text(x: float, y: float, text: str, anchor: str, *, class_: str = "tick") -> Markup:
    return join([element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=class_)])


# --- axes ----------------------------------------------------------------------------------------------------------


def _scale(axis: Axis, values: Sequence[float], start: float, end: float) -> _Scale:
    ticks = axis.ticks or (_powers(values) if axis.is_logarithmic else _steps(values, from_zero=axis.starts_at_zero))
    low, high = min(*ticks, *values), max(*ticks, *values)
    measure: Callable[[float], float] = math.log10 if axis.is_logarithmic else float
    first, last = measure(low), measure(high)
    # A single value stands in the middle; marks keep off the edges of an axis whose ticks are its values.
    pad = 0.06 * (end - start) if axis.ticks else 0.0
    start, end = start + pad, end - pad

    def place(value: float) -> float:
        share = 0.5 if first == last else (measure(value) - first) / (last - first)
        return start + share * (end - start)

    return _Scale(place, tuple(ticks))


def _powers(values: Sequence[float]) -> tuple[float, ...]:
    """Powers of ten around the values, with their halves and doubles where there are few."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    powers = [10.0**power for power in range(low, max(high, low + 1) + 1)]
    if len(powers) > 3:
        return tuple(powers)
    finer = sorted({factor * power for power in powers[:-1] for factor in (1, 2, 5)} | {powers[-1]})
    inside = [tick for tick in finer if min(values) / 2.5 <= tick <= max(values) * 2.5]
    return tuple(inside if len(inside) > 1 else powers)


def _steps(values: Sequence[float], *, from_zero: bool) -> tuple[float, ...]:
    """About five round numbers around the values."""
    low, high = 0.0 if from_zero else min(values), max(values)
    if low == high:  # a single value is the highest tick, for it may be all of 100 %
        low = high - abs(high) / 2
    span = high - low or abs(high) or 1.0
    rough = span / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return tuple(round(step * number, 10) for number in range(first, max(last, first + 1) + 1))


def _number(value: float) -> str:
    """Short, with units of thousands where that helps."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
