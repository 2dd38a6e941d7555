# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The five sentences of an answer. Every number in them is one of :class:`matchbench.answer.Answer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matchbench.answer import MATTERS, MATTERS_MUCH, Answer, Change, EngineClass, Ranks, Trust

_MOST = 6
"""Names in a list above which the rest is counted."""
_FEW = 3
"""The same for names of lesser weight."""

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
        return "It is unknown whether matching matters: no trace finished its replay."
    if answer.silent:
        programs = "this program" if len(costs) == 1 else f"these {len(costs)} programs"
        return f"Matching costs {programs} nothing: no message matched a receive."
    highest = max(costs.values())
    matters = "matters much" if highest >= MATTERS_MUCH else "matters"
    on = f"its run time in software ({answer.reference})"
    if len(costs) == 1:
        verdict, limit = (
            (matters, "") if highest >= MATTERS else ("does not matter", f", less than {percent(MATTERS)}")
        )
        return f"Matching {verdict}: it costs this program {percent(highest)} of {on}{limit}."
    many = sum(cost >= MATTERS for cost in costs.values())
    verdict = f"does not matter for any of the {len(costs)} programs"
    if many:
        verdict = f"{matters} for {'all' if many == len(costs) else f'{many} of the'} {len(costs)} programs"
    return f"Matching {verdict}: {answer.worst} loses the most, {percent(highest)} of {on}."


def _ranks(answer: Answer) -> str:
    ranks = answer.ranks
    if ranks is None:
        return "Nothing is known about single ranks."
    where = f"In {answer.worst} on" if len(answer.costs) > 1 else "On"
    return f"{where} {answer.reference}, {_rank_text(ranks)}"


def _rank_text(ranks: Ranks) -> str:
    if ranks.pattern == "none":
        return f"none of the {ranks.count} ranks waits for matching."
    median, most = percent(ranks.median_share), percent(ranks.worst_share)
    if ranks.count == 1:
        return f"rank {ranks.worst} waits for matching for {most} of its run time."
    if ranks.pattern == "all":
        who = "both ranks" if ranks.count == 2 else f"all {ranks.count} ranks"
        return f"{who} wait alike: {median} of the run time (median), at most {most} (rank {ranks.worst})."
    few = len(ranks.concerned)
    if ranks.pattern == "few":
        noun, verb = ("rank", "does") if few == 1 else ("ranks", "do")
        which = f"{noun} {_list([str(rank) for rank in ranks.concerned], 'more')} of {ranks.count} {verb}"
    else:
        which = f"{few} of the {ranks.count} ranks do"
    whose = "" if ranks.concerned == (ranks.worst,) else f"rank {ranks.worst} "
    return f"{which} {percent(ranks.share)} of the waiting; {whose or 'it '}waits for {most} of its run time."


def _engines(answer: Answer) -> str:
    """Say which engines are as good as the fastest, and which ones are not ranked."""
    text = _ranking(answer)
    if not answer.implausible:
        return text
    if not answer.classes:
        text = "No other engine was compared to the end of a trace."
    names = _list([*answer.implausible], "more", _FEW)
    which = f"{names} {'is' if len(answer.implausible) == 1 else 'are'} implausible and not ranked"
    first, reason = next(iter(answer.implausible.items()))
    whose = f"{first}: " if len(answer.implausible) > 1 else ""
    return f"{text.removesuffix('.')}; {which}: {whose}{reason}."


def _ranking(answer: Answer) -> str:
    """Say which engines are as good as the fastest, and how much slower the others are."""
    classes = answer.classes
    if not classes:
        return "No simulated engine was compared to the end of a trace."
    first, others = classes[0], classes[1:]
    within = f"within {percent(answer.threshold)}"
    if answer.threshold > MATTERS:
        within += ", as far as an assumed parameter moves them"
    if answer.simulated == 1:
        return f"Only one engine was compared: {first.engines[0]}, {_range(first)}."
    if not others:
        whole = "Both" if answer.simulated == 2 else f"All {answer.simulated}"
        return f"{whole} engines are alike {within}: {_range(first)}."
    slower = [f"{_list(each.engines, 'more', _FEW)} ({_ratios(each)})" for each in others]
    if len(slower) > _FEW:
        count = sum(len(each.engines) for each in others[:-1])
        rest = f"{count} engines are in {len(others) - 1} slower classes, and {slower[-1]} is the slowest"
    else:
        rest = f"{_and(slower)} {'is' if len(others) == len(others[0].engines) == 1 else 'are'} slower"
    if len(first.engines) == 1:
        return f"{first.engines[0]} is the fastest of {answer.simulated} engines, {_range(first)}; {rest}."
    return (
        f"{len(first.engines)} of {answer.simulated} engines are alike {within}, {_range(first)}: "
        f"{_list(first.engines, 'more')}; {rest}."
    )


def _range(each: EngineClass) -> str:
    return f"{_ratios(each)} times the run time without matching"


def _ratios(each: EngineClass) -> str:
    low, high = f"{each.fastest:.3f}", f"{each.slowest:.3f}"
    return low if low == high else f"{low} to {high}"


def _changes(answer: Answer) -> str:
    if answer.base is None or not answer.changes:
        return "No replay shows what would change this."
    where = f"In {answer.worst} on" if len(answer.costs) > 1 else "On"
    about = f"{where} {answer.reference}, it would"
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
    if yes:
        return f"{about} matter with {_or(yes)}."
    no = [_deeper(depths[-1])] if depths else []
    no += [_faster(each) for each in faster]
    return f"{about} not matter with {_or(no)} either."


def _would_not_matter(answer: Answer, about: str) -> str:
    """Say which tested change makes matching cheap: a faster engine, and slower surroundings."""
    tested = [each for each in answer.changes if each.change == "matching" or each.factor > 1]
    tested = [each for each in tested if each.change != "depth"]
    yes = [_cheaper(each) for each in tested if each.cost < MATTERS]
    depths = [each for each in answer.changes if each.change == "depth"]
    worse = (
        f"; with {_deeper(depths[0])} it would cost more"
        if depths and depths[0].cost > (answer.base or 0)
        else ""
    )
    if yes:
        return f"{about} not matter with {_or(yes)}{worse}."
    return f"{about} still matter with {_or([_cheaper(each) for each in tested])}{worse}."


def _deeper(change: Change) -> str:
    return f"queues {_times(change.factor)} as deep ({percent(change.cost)})"


def _faster(change: Change) -> str:
    return f"{_SPEEDUPS[change.change]} {_times(1 / change.factor)} as fast ({percent(change.cost)})"


def _cheaper(change: Change) -> str:
    what = {
        "matching": f"the engine {_times(1 / change.factor)} as fast",
        "compute": f"{_times(change.factor)} the computation between calls",
    }[change.change]
    return f"{what} ({percent(change.cost)})"


def _times(factor: float) -> str:
    return f"{factor:.6g} times".replace("1000 ", "1 000 ")


def _trust(answer: Answer) -> str:
    trust = answer.trust
    parts = [_parameters(trust), *_recordings(answer)]
    if measured := trust.measured:
        parts.append(f"{measured} {'rows were' if measured > 1 else 'row was'} measured on this host")
    return f"Trust: {'; '.join(parts)}."


def _parameters(trust: Trust) -> str:
    if not trust.varied:
        return "no parameter was varied"
    if not trust.depends:
        return f"none of {trust.varied} parameters, doubled or halved, changes the cost"
    count = len(trust.depends)
    which = (
        "the parameter that changes the cost"
        if count == 1
        else f"the {count} parameters that change the cost"
    )
    if not trust.assumed:
        return f"{which} is not assumed" if count == 1 else f"none of {which} is assumed"
    names = _list(trust.assumed, "more", _FEW)
    share = f"{len(trust.assumed)} of {which} ({percent(len(trust.assumed) / count)})"
    text = f"{share} {'is' if len(trust.assumed) == 1 else 'are'} assumed, {names}"
    if count == 1:
        text = f"{which} is assumed, {names}"
    if trust.low is not None and trust.high is not None:
        text += f": doubled or halved, the cost is {percent(trust.low)} to {percent(trust.high)}"
    return text


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
        yield f"{traces} not say whether ranks shared processors"
    if trust.incomplete:
        yield f"trace or replay is incomplete: {_list(trust.incomplete, 'more')}"


def _list(items: Sequence[str], rest: str, most: int = _MOST) -> str:
    """Join with commas and `and`; above a number of items, count the rest."""
    shown = list(items)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} {rest}"]
    return _and(shown)


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _or(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"
