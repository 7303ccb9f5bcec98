"""Verdicts and measures as text that reads well at 80 to 120 columns."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from mqlab.cli import output
from mqlab.measure import Latency
from mqlab.runs import Run
from mqlab.verdicts import HOLDS, UNDECIDED, VIOLATED, ClaimVerdict, Verdicts

_STYLE = {HOLDS: "bold green", VIOLATED: "bold red", UNDECIDED: "bold yellow"}
_BROKER_NAMES = {"kafka": "Kafka", "nats": "NATS"}
_QUANTILES = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9"), (1.0, "max"))


def setting_of(verdicts: Verdicts) -> str:
    """Which system was looked at: "Kafka 4.1.1 · librdkafka 2.0.2 · simulated · seed 7"."""
    systems = [f"{_BROKER_NAMES.get(kind, kind)} {version}".strip() for kind, version in verdicts.brokers]
    world = "simulated" if verdicts.world == "sim" else "live"
    return " · ".join([*systems, verdicts.client, world, f"seed {verdicts.seed}"])


def show_verdicts(verdicts: Verdicts) -> None:
    searched = verdicts.schedules > 1
    width = max((len(label(v, verdicts)) for v in verdicts), default=0)
    shown: dict[str, str] = {}
    for verdict in verdicts:
        name = label(verdict, verdicts)
        _show_claim(verdict, name, width, searched)
        key = verdict.counterexample.key if verdict.counterexample else ""
        if key in shown:
            _fact("story", f"the same as for {shown[key]}")
        else:
            _show_story(verdict)
            shown |= {key: name} if key else {}
        _show_facts(verdict)
    _show_grounds(verdicts, width)


def label(verdict: ClaimVerdict, verdicts: Verdicts) -> str:
    """The claim's id; its scope where several claims share the id."""
    return verdict.scope if sum(v.claim == verdict.claim for v in verdicts) > 1 else verdict.claim


def _show_claim(verdict: ClaimVerdict, name: str, width: int, searched: bool) -> None:
    # A search that finds nothing has not proved anything; a cost was measured.
    says = "NOT BROKEN" if verdict.verdict == HOLDS and searched and verdict.value is None else verdict.verdict.upper()
    reason = Text(_reason(verdict))
    if verdict.expected == VIOLATED and verdict.verdict == HOLDS:
        reason.append("  (was expected to be violated)", "bold red")
    elif verdict.expected == VIOLATED and verdict.as_expected:
        reason.append("  (as expected)", "dim")
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_column(width=width)
    line.add_column(width=10, style=_STYLE[verdict.verdict])
    line.add_column()
    line.add_row(name, says, reason)
    output.out.print(line)


def _show_story(verdict: ClaimVerdict) -> None:
    story = verdict.story if verdict.value is None else ()  # a cost has no story, only the run it was measured in
    for number, step in enumerate(story, 1):
        output.out.print(Text(f"  {number:>2} {step}"))


def _show_facts(verdict: ClaimVerdict) -> None:
    for cause in verdict.causes:
        _fact("cause", cause)
    if verdict.reproduced is not None:
        again = verdict.reproduced
        runs = output.plural(again.of, "run")
        seen = f"violated in {again.times} of {runs}" if again.times else f"not violated in {runs}"
        _fact("real", f"{seen} on the real broker")
    if verdict.counterexample is not None:
        _fact("replay", f"mqlab replay {verdict.counterexample.path}")
        if verdict.counterexample.picture.exists():
            _fact("picture", str(verdict.counterexample.picture))


def _reason(verdict: ClaimVerdict) -> str:
    if verdict.verdict == HOLDS and verdict.value is None:
        return f"{output.count(verdict.observed)} observed"
    if verdict.first_failing_schedule is None:
        return verdict.explanation
    return f"{_how_found(verdict)}: {verdict.explanation}"


def _how_found(verdict: ClaimVerdict) -> str:
    parts = [f"schedule {verdict.first_failing_schedule:,}"]
    if verdict.shrunk is not None:
        parts.append(f"shrunk {verdict.shrunk[0]:,} → {output.plural(verdict.shrunk[1], 'request')}")
    if verdict.counterexample is not None:
        faults = verdict.counterexample.scenario.core.faults
        parts.append(output.plural(faults, "fault") if faults else "no fault needed")
    return ", ".join(parts)


def _fact(name: str, text: str) -> None:
    output.out.print(Text(f"  {name:<8}", "dim").append(text, "default"))


def _show_grounds(verdicts: Verdicts, width: int) -> None:
    for title, facts in (
        ("rests on", _counted({fact for v in verdicts for fact in v.rests_on})),
        ("not covered", sorted({gap for v in verdicts for gap in v.not_covered})),
    ):
        if facts:
            indent = max(width, 11) + 2
            table = Table.grid()
            table.add_column(width=indent, style="dim")
            table.add_column()
            table.add_row(title, "; ".join(facts))
            output.out.print(table)


def _counted(facts: set[str]) -> list[str]:
    """How many facts of the model were shown on a real broker; their names are in the verdict document."""
    if not facts:
        return []
    from mqlab.conformance.fidelity import live_results

    results = live_results()
    shown = sum(results.get(fact, {}).get("result") == "agrees" for fact in facts)
    model = len(facts) - shown
    only = f", {model} in the model only" if model else ""
    return [f"{output.plural(len(facts), 'fact')}: {shown} shown on a real broker{only} (docs/fidelity.md)"]


def show_run(run: Run) -> None:
    output.out.print(Text(setting_of(run.verdicts), "bold"))
    if run.scenario.question:
        output.out.print(Text(run.scenario.question, "italic"))
    show_verdicts(run.verdicts)
    output.out.print()
    output.out.print(latency_table([(_world(run), run.latency)]))
    for refused in run.refused:
        output.out.print(Text(f"refused     {refused}", "bold"))
    output.out.print(Text(f"throughput  {output.count(run.throughput)} requests/s at the pipeline's end", "dim"))
    if run.folder is not None:
        output.out.print(Text("result      ", "dim").append(str(run.folder), "default"))


def _world(run: Run) -> str:
    return "simulated" if run.world == "sim" else "live"


def latency_table(rows: list[tuple[str, Latency]]) -> Table:
    """Quantiles from the intended send, one row a run."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("latency", style="dim")
    for _, name in _QUANTILES:
        table.add_column(name, justify="right", min_width=8)
    table.add_column("requests", justify="right")
    table.add_column("unanswered", justify="right")
    for name, latency in rows:
        values = [output.duration(latency.quantile(q)) for q, _ in _QUANTILES]
        table.add_row(name, *values, f"{len(latency):,}", f"{latency.unanswered:,}")
    return table
