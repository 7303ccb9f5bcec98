"""Plots, made without a screen or a browser."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mqlab.measure import Measures, Nanoseconds
from mqlab.runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def latency_of(runs: Sequence[Run]) -> Figure:
    """Left: each request's latency over the run. Right: quantiles, the tail stretched. One colour a run."""
    figure = _figure(figsize=(10, 4), layout="constrained")
    over_time, quantiles = figure.subplots(1, 2)
    for run in runs:
        name = f"{run.scenario.name}, {'simulated' if run.world == 'sim' else 'live'}"
        sent, latency = _samples(run.measures)
        over_time.plot((sent - sent[:1]) / 1e9, latency / 1e6, ".", markersize=3, label=name)
        _draw_quantiles(quantiles, np.sort(latency), name)
    over_time.set(xlabel="intended send, s since the first", ylabel="latency, ms", ylim=(0, None))
    quantiles.set(xlabel="quantile", ylabel="latency, ms", xscale="log", ylim=(0, None))
    quantiles.set_xticks([1 / (1 - q) for q in (0.5, 0.9, 0.99, 0.999)], ["50 %", "90 %", "99 %", "99.9 %"])
    quantiles.minorticks_off()
    quantiles.legend()
    return figure


def _figure(**options: Any) -> Figure:
    """A figure that a notebook shows by itself, whatever its backend."""
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            image = io.BytesIO()
            self.savefig(image, format="png")
            return image.getvalue()

    return Shown(**options)


def _samples(measures: Measures) -> tuple[Nanoseconds, Nanoseconds]:
    """Intended send and latency of each answered request, in order of the send."""
    requests, ends = measures.requests, measures.arrived
    _, of_request, of_end = np.intersect1d(requests["message"], ends["message"], return_indices=True)
    sent = requests["aux"][of_request]
    order = np.argsort(sent, kind="stable")
    return sent[order], (ends["time"][of_end] - sent)[order]


def _draw_quantiles(axes: Axes, latency: Nanoseconds, name: str) -> None:
    if len(latency) == 0:
        return
    share = (np.arange(len(latency)) + 0.5) / len(latency)
    axes.plot(1 / (1 - share), latency / 1e6, label=name)
