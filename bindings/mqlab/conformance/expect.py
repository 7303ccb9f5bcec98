"""What an entry expects of a run, in a handful of forms, and whether a run shows it.

    { count = ROWS, is = 3 }                            how many
    { list = "position", of = ROWS, is = [0, 1, 2] }    a column in order; sorted, distinct = true
    { wait = [ROWS, ROWS], is = "30s", late = "1ms" }   from the first of one to the first of another: at least `is`,
                                                        at most `late` more (default: to the nanosecond), and
                                                        `early` less, since the first may have been seen late
    { order = [ROWS, ROWS, …] }                         the first of each comes after the one before
    { verdict = "no_loss", is = "violated" }            what a claim of the scenario is judged
    { reached = true }                                  every fault was carried out
    { quiet = false }                                   the run came to rest in time; true where nothing is said

`is` may be { sim = …, live = … }; so may all others. In place of `is`: at_least, at_most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mqlab.conformance.observe import Mistake, column, in_words, nanoseconds, pick
from mqlab.runs import Run

Wanted = Mapping[str, Any]


@dataclass(frozen=True)
class Seen:
    """One expectation, held against a run."""

    holds: bool
    expected: str
    observed: str


def check(run: Run, wanted: Wanted) -> Seen:
    """Raises Mistake for an expectation that says nothing."""
    forms = [name for name in FORMS if name in wanted]
    if len(forms) != 1:
        raise Mistake(f"an expectation is one of {', '.join(FORMS)}; this one has {', '.join(wanted) or 'nothing'}")
    world = run.world
    fitting = {
        key: value[world] if isinstance(value, Mapping) and set(value) == {"sim", "live"} else value
        for key, value in wanted.items()
    }
    return FORMS[forms[0]](run, fitting)


def _bound(wanted: Wanted, value: Any, what: str, words: Callable[[Any], str] = str) -> Seen:
    """`is`, at_least, at_most."""
    said, holds = [], True
    for key, fits in (("is", value == wanted.get("is")), ("at_least", None), ("at_most", None)):
        if key not in wanted:
            continue
        limit = wanted[key]
        said.append(f"{words(limit)}" if key == "is" else f"{key.replace('_', ' ')} {words(limit)}")
        holds &= bool(fits if key == "is" else value >= limit if key == "at_least" else value <= limit)
    if not said:
        raise Mistake(f"{what}: is, at_least or at_most is missing")
    return Seen(holds, f"{what}: {' and '.join(said)}", words(value))


def _of(wanted: Wanted) -> str:
    """Rows in words."""
    left = {key: value for key, value in wanted.items() if key not in ("kind", "phase")}
    phase = wanted.get("phase", "ok")
    name = wanted.get("kind", "") + ("" if phase == "ok" else f" {phase}")
    more = ", ".join(f"{key} {_of(value) if isinstance(value, Mapping) else value}" for key, value in left.items())
    return f"{name} ({more})" if more else str(name)


def _count(run: Run, wanted: Wanted) -> Seen:
    return _bound(wanted, len(pick(run, wanted["count"])), f"number of {_of(wanted['count'])}")


def _list(run: Run, wanted: Wanted) -> Seen:
    values = column(run, pick(run, wanted["of"]), wanted["list"])
    if wanted.get("distinct"):
        values = list(dict.fromkeys(values))
    if wanted.get("sorted"):
        values = sorted(values)
    return _bound(wanted, values, f"{wanted['list']} of {_of(wanted['of'])}", _short)


def _short(values: Any) -> str:
    """Long lists by their ends."""
    if not isinstance(values, list) or len(values) <= 24:
        return str(values)
    return f"{str(values[:10])[:-1]}, … {str(values[-6:])[1:]} ({len(values)} in all)"


def _wait(run: Run, wanted: Wanted) -> Seen:
    first, second = wanted["wait"]
    begin, end = pick(run, first), pick(run, second)
    what = f"from {_of(first)} to {_of(second)}"
    if not len(begin) or not len(end):
        return Seen(False, what, f"there is no {_of(first if not len(begin) else second)}")
    took = int(end["time"][0] - begin["time"][0])
    if "is" not in wanted:
        limits = {key: nanoseconds(wanted[key]) for key in ("at_least", "at_most") if key in wanted}
        return _bound(limits, took, what, in_words)
    exact, late, early = (nanoseconds(wanted.get(key, "0ns")) for key in ("is", "late", "early"))
    margin = (
        f" (−{in_words(early)}, +{in_words(late)})" if early else f", at most {in_words(late)} late" if late else ""
    )
    return Seen(exact - early <= took <= exact + late, f"{what}: {in_words(exact)}{margin}", in_words(took))


def _order(run: Run, wanted: Wanted) -> Seen:
    times = []
    for rows in wanted["order"]:
        found = pick(run, rows)
        if not len(found):
            return Seen(False, f"{_of(rows)} is there", "it is not")
        times.append(int(found["time"][0]))
    said = " before ".join(_of(rows) for rows in wanted["order"])
    return Seen(times == sorted(times) and len(times) > 1, said, " · ".join(in_words(t - times[0]) for t in times))


def _verdict(run: Run, wanted: Wanted) -> Seen:
    try:
        verdict = run.verdicts[wanted["verdict"]]
    except KeyError as error:
        raise Mistake(f"verdict: there is no claim {error}") from None
    seen = _bound(wanted, verdict.verdict, wanted["verdict"])
    return Seen(seen.holds, seen.expected, f"{verdict.verdict} {verdict.explanation}".strip())


def _reached(run: Run, wanted: Wanted) -> Seen:
    return _bound({"is": wanted["reached"]}, run.faults_reached, "every fault was carried out")


def _quiet(run: Run, wanted: Wanted) -> Seen:
    quiet = len(run.record.where("quiet", "ok")) == 1
    return _bound({"is": wanted["quiet"]}, quiet, "it comes to rest in time")


FORMS: Mapping[str, Callable[[Run, Wanted], Seen]] = {
    "count": _count,
    "list": _list,
    "wait": _wait,
    "order": _order,
    "verdict": _verdict,
    "reached": _reached,
    "quiet": _quiet,
}
