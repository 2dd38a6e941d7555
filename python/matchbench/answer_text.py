# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The five sentences of an answer. Every number in them is one of :class:`matchbench.answer.Answer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matchbench.answer import MATTERS, MATTERS_MUCH, Answer, Change, EngineClass, Ranks, Trust

_MOST = 8
"""Names in a list above which the rest is counted."""

_SPEEDUPS = {"compute": "processors", "network": "a network"}


def sentences(answer: Answer) -> dict[str, str]:
    """Write the sentences.

    Parameters
    ----------
    answer
        The numbers.

    Returns
    -------
    dict
        By question: `matters`, `ranks`, `engines`, `changes` and `trust`.
    """
    return {
        "matters": _matters(answer),
        "ranks": _ranks(answer),
        "engines": _engines(answer),
        "changes": _changes(answer),
        "trust": _trust(answer),
    }


def percent(share: float) -> str:
    """Format a share with two digits, and at least a hundredth of a per cent.

    Parameters
    ----------
    share
        Usually 0 to 1; negative if the reference engine makes the program faster.
    """
    value = 100 * share
    if 0 < abs(value) < 0.01:
        return "less than 0.01 %" if value > 0 else "-0.01 %"
    if abs(value) >= 99.5:
        return f"{value:.4g} %"
    return f"{value:.2g} %" if abs(value) < 10 else f"{value:.0f} %"


def _matters(answer: Answer) -> str:
    costs = answer.costs
    if not costs:
        return "Whether matching matters is open: no trace finished its replay."
    if answer.silent:
        programs = "this program" if len(costs) == 1 else f"these {len(costs)} programs"
        return f"Matching costs {programs} nothing: no message matched a receive."
    many = sum(cost >= MATTERS for cost in costs.values())
    highest = max(costs.values())
    matters = "matters much" if highest >= MATTERS_MUCH else "matters"
    in_software = f"in software ({answer.reference}) it costs"
    limit = "" if many else f"; from {percent(MATTERS)} on it would matter"
    if len(costs) == 1:
        verdict = matters if many else "does not matter"
        return f"Matching {verdict}: {in_software} this program {percent(highest)} of its run time{limit}."
    if not many:
        verdict = "matters for none of the"
    else:
        verdict = f"{matters} for all" if many == len(costs) else f"{matters} for {many} of the"
    by_trace = _list([f"{percent(cost)} for {trace}" for trace, cost in costs.items()], "more")
    return f"Matching {verdict} {len(costs)} programs: {in_software} {by_trace} of the run time{limit}."


def _ranks(answer: Answer) -> str:
    ranks = answer.ranks
    if ranks is None:
        return "Nothing is known about single ranks."
    where = f"In {answer.worst}, the worst trace, " if len(answer.costs) > 1 else ""
    text = _rank_text(ranks)
    return where + text if where else text[0].upper() + text[1:]


def _rank_text(ranks: Ranks) -> str:
    if ranks.pattern == "none":
        return f"none of the {ranks.count} ranks waits for matching."
    median, most = percent(ranks.median_share), percent(ranks.worst_share)
    if ranks.count == 1:
        return f"rank {ranks.worst} waits for matching for {most} of its run time."
    if ranks.pattern == "all":
        return (
            f"all {ranks.count} ranks are alike: a rank waits for matching for {median} of its run time "
            f"(median), and rank {ranks.worst} for {most}, the most."
        )
    few = len(ranks.concerned)
    if ranks.pattern == "few":
        noun, verb = ("rank", "does") if few == 1 else ("ranks", "do")
        which = f"{noun} {_list([str(rank) for rank in ranks.concerned], 'more')} of {ranks.count} {verb}"
    else:
        which = f"{few} of the {ranks.count} ranks do"
    return (
        f"{which} {percent(ranks.share)} of the waiting for matching: rank {ranks.worst} waits for {most} "
        f"of its run time, the median rank for {median}."
    )


def _engines(answer: Answer) -> str:
    classes = answer.classes
    if not classes:
        return "No simulated engine was compared to the end of a trace."
    within = f"within {percent(answer.threshold)}"
    if answer.threshold > MATTERS:
        within += ", which is how much an assumed parameter moves them"
    scope = " in every trace" if len(answer.costs) > 1 else ""
    if answer.simulated == 1:
        only = classes[0]
        return f"Only one engine was compared: {only.engines[0]}, {_range(only)}."
    if len(classes) == 1:
        return f"All {answer.simulated} engines are alike {within}{scope}: {_range(classes[0])}."
    if all(len(each.engines) == 1 for each in classes):
        fastest, slowest = classes[0], classes[-1]
        engines = f"No two of the {answer.simulated} engines are"
        if answer.simulated == 2:
            engines = "The 2 engines are not"
        return (
            f"{engines} alike {within}{scope}: {fastest.engines[0]} is the fastest, {_range(fastest)}, "
            f"and {slowest.engines[0]} the slowest ({_ratios(slowest)})."
        )
    groups = [f"{_list(classes[0].engines, 'more')}, {_range(classes[0])}"]
    groups += [f"{_list(each.engines, 'more')} ({_ratios(each)})" for each in classes[1:]]
    return (
        f"The {answer.simulated} engines form {len(classes)} classes, alike {within}{scope}: "
        f"{'; '.join(groups)}."
    )


def _range(each: EngineClass) -> str:
    return f"{_ratios(each)} times the run time without matching"


def _ratios(each: EngineClass) -> str:
    low, high = f"{each.fastest:.3f}", f"{each.slowest:.3f}"
    return low if low == high else f"{low} to {high}"


def _changes(answer: Answer) -> str:
    if answer.base is None or not answer.changes:
        return "What would change this was not replayed."
    about = "" if len(answer.costs) == 1 else f" in {answer.worst}"
    if answer.base < MATTERS:
        return _would_matter(answer, about)
    return _would_not_matter(answer, about)


def _would_matter(answer: Answer, about: str) -> str:
    """Say which tested change makes matching matter: the least depth, and what is faster around it."""
    depths = sorted((each for each in answer.changes if each.change == "depth"), key=lambda each: each.factor)
    crossing = next((each for each in depths if each.cost >= MATTERS), None)
    faster = [each for each in answer.changes if each.change in _SPEEDUPS and each.factor < 1]
    yes = [_deeper(crossing)] if crossing else []
    yes += [_faster(each) for each in faster if each.cost >= MATTERS]
    no = [] if crossing or not depths else [_deeper(depths[-1])]
    no += [_faster(each) for each in faster if each.cost < MATTERS]
    if not yes:
        return f"Matching would not matter{about} with {_or(no)} either."
    but = f", but not with {_or(no)}" if no else ""
    return f"Matching would matter{about} with {_or(yes)}{but}."


def _would_not_matter(answer: Answer, about: str) -> str:
    """Say which tested change makes matching cheap: a faster engine, and slower surroundings."""
    tested = [each for each in answer.changes if each.change == "matching" or each.factor > 1]
    tested = [each for each in tested if each.change != "depth"]
    yes = [_cheaper(each) for each in tested if each.cost < MATTERS]
    no = [_cheaper(each) for each in tested if each.cost >= MATTERS]
    depths = [each for each in answer.changes if each.change == "depth"]
    worse = f"; {_deeper(depths[0])} would raise it" if depths and depths[0].cost > (answer.base or 0) else ""
    if not yes:
        return f"Matching would still matter{about} with {_or(no)}{worse}."
    but = f", but not with {_or(no)}" if no else ""
    return f"Matching would cease to matter{about} with {_or(yes)}{but}{worse}."


def _deeper(change: Change) -> str:
    return f"queues {_times(change.factor)} as deep ({percent(change.cost)})"


def _faster(change: Change) -> str:
    return f"{_SPEEDUPS[change.change]} {_times(1 / change.factor)} as fast ({percent(change.cost)})"


def _cheaper(change: Change) -> str:
    what = {
        "matching": f"an engine {_times(1 / change.factor)} as fast",
        "compute": f"{_times(change.factor)} the computation between calls",
    }[change.change]
    return f"{what} ({percent(change.cost)})"


def _times(factor: float) -> str:
    return f"{factor:.6g} times".replace("1000 ", "1 000 ")


def _trust(answer: Answer) -> str:
    parts = [*_parameters(answer.trust), *_recordings(answer)]
    if measured := answer.trust.measured:
        parts.append(f"{measured} {'rows were' if measured > 1 else 'row was'} measured on this host")
    return f"How far to trust it: {'; '.join(parts)}."


def _parameters(trust: Trust) -> Iterator[str]:
    if not trust.varied:
        yield "no parameter was varied"
    elif not trust.depends:
        yield f"doubling or halving any of {trust.varied} parameters does not change the cost"
    else:
        assumed = "none of them assumed"
        if trust.assumed:
            share = percent(len(trust.assumed) / len(trust.depends))
            assumed = f"{len(trust.assumed)} of them assumed ({share}): {_list(trust.assumed, 'more')}"
        yield (
            f"the cost depends on {len(trust.depends)} of {trust.varied} parameters "
            f"({_list(trust.depends, 'more')}), {assumed}"
        )
    if trust.assumed and trust.low is not None and trust.high is not None:
        extremes = f"{percent(trust.low)} to {percent(trust.high)}"
        yield f"with one assumed parameter doubled or halved the cost is {extremes}"


def _recordings(answer: Answer) -> Iterator[str]:
    trust = answer.trust
    crowded = len(trust.oversubscribed)
    if crowded:
        traces = f"{trust.oversubscribed[0]} was" if crowded == 1 else f"{crowded} traces were"
        waiting = ""
        if trust.waiting_share is not None:
            waiting = f", which waited for a processor for {percent(trust.waiting_share)} of the time"
        most = "" if crowded == 1 else "up to "
        yield f"{traces} recorded with {most}{trust.ranks_per_processor:.3g} ranks per processor{waiting}"
    if trust.untold:
        traces = f"{trust.untold[0]} does" if len(trust.untold) == 1 else f"{len(trust.untold)} traces do"
        yield f"{traces} not tell whether ranks shared processors"
    if trust.incomplete:
        yield f"trace or replay is incomplete: {_list(trust.incomplete, 'more')}"


def _list(items: Sequence[str], rest: str) -> str:
    """Join with commas and `and`; above a number of items, count the rest."""
    shown = list(items)
    if len(shown) > _MOST:
        shown = [*shown[: _MOST - 1], f"{len(shown) - _MOST + 1} {rest}"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _or(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"
