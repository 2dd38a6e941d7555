# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The five sentences of an answer. Every number in them is one of :class:`matchbench.answer.Answer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from matchbench.compare.coverage import REFUSED
from matchbench.compare.thresholds import MATTERS, MATTERS_MUCH
from matchbench.compare.trust import Rest, Trust
from matchbench.compare.variations import ARRIVALS_DIFFER

if TYPE_CHECKING:
    from matchbench.compare.answer import (
        Answer,
        Change,
        EngineClass,
        Interval,
        Polling,
        Ranks,
        Refusal,
    )

_MOST = 6
"""Names in a list above which the rest is counted."""
_FEW = 3
"""The same for names of lesser weight."""

_SPEEDUPS = {"compute": "processors", "network": "a network"}

_SOURCES = {"paper": "from a paper", "user": "set by the user"}
"""Words for sources of parameters that are no adjectives."""

_CHANGED = {
    "polls": "polls",
    "shared": "shared processors",
    "arrivals": "arrival times",
    "wildcards": "wildcards",
}
_OTHERWISE = {
    "polls": "by the other rule",
    "shared": "if the time that ranks waited for processors is computation",
    "arrivals": "with a tenth and ten times the network latency",
    "wildcards": "if they match the other way",
}
"""What the changes of the recording are called, and what was replayed instead."""


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
    refused = answer.refused
    if not answer.costs:
        if len(refused) == 1:
            return f"It is unknown whether matching matters: {_refusal(refused[0])}."
        if refused:
            return (
                f"It is unknown whether matching matters for {len(refused)} programs: in {refused[0].trace}, "
                f"{_refusal(refused[0])}."
            )
        return "It is unknown whether matching matters: no trace finished its replay."
    if answer.silent:
        text = _silent(answer)
    else:
        text = _interval(answer, answer.interval) if answer.interval else _cost(answer)
    if refused:
        which = refused[0].trace if len(refused) == 1 else f"{len(refused)} more traces"
        text += f"; it is unknown for {which}: {_refusal(refused[0])}"
    return f"{text}."


def _refusal(refusal: Refusal) -> str:
    return (
        f"the replay omits {percent(refusal.share)} of {refusal.of} ({refusal.what}); "
        f"from {percent(REFUSED)} on, no answer is given"
    )


def _silent(answer: Answer) -> str:
    programs = "this program" if len(answer.costs) == 1 else f"these {len(answer.costs)} programs"
    if (one_sided := answer.one_sided) and len(answer.costs) == 1:
        return (
            f"Matching costs {programs} nothing: its communication is one-sided and is not matched "
            f"({_calls(one_sided.calls)}, {percent(one_sided.share)} of the time in calls)"
        )
    if count := answer.partitioned:
        return (
            f"Matching costs {programs} nothing: {count} messages are partitioned, "
            "and their starts are not matched"
        )
    return f"Matching costs {programs} nothing: no message matched a receive"


def _calls(count: int) -> str:
    return f"{count} {'call' if count == 1 else 'calls'}"


def _software(answer: Answer) -> str:
    return f"its run time with matching in software ({answer.reference})"


def _apart(answer: Answer) -> str:
    """Say that the run time lacks one-sided communication, if that is much."""
    if (one_sided := answer.one_sided) is None:
        return ""
    whose = "" if len(answer.costs) == 1 else f" of {one_sided.trace}"
    return (
        f"; the one-sided communication{whose} is not matched and not included "
        f"({percent(one_sided.share)} of the time in calls)"
    )


def _cost(answer: Answer) -> str:
    costs = answer.costs
    highest = max(costs.values())
    matters = "matters much" if highest >= MATTERS_MUCH else "matters"
    if len(costs) == 1:
        verdict, limit = (
            (matters, "")
            if highest >= MATTERS
            else ("does not matter", f", below the threshold of {percent(MATTERS)}")
        )
        return (
            f"Matching {verdict}: it costs this program {percent(highest)} of {_software(answer)}{limit}"
            f"{_apart(answer)}"
        )
    many = sum(cost >= MATTERS for cost in costs.values())
    verdict = f"does not matter for any of the {len(costs)} programs"
    if many:
        verdict = f"{matters} for {'all' if many == len(costs) else f'{many} of the'} {len(costs)} programs"
    worst = f"{answer.worst} loses the most, {percent(highest)} of {_software(answer)}"
    return f"Matching {verdict}: {worst}{_apart(answer)}"


def _interval(answer: Answer, interval: Interval) -> str:
    """Say what it costs in several recordings of one program."""
    limit = ""
    if interval.straddles(MATTERS):
        verdict = f"is at the threshold of {percent(MATTERS)}"
    elif interval.straddles(MATTERS_MUCH):
        verdict = f"matters, and is at the threshold of {percent(MATTERS_MUCH)} from which it matters much"
    elif interval.high < MATTERS:
        verdict, limit = "does not matter", f", below the threshold of {percent(MATTERS)}"
    else:
        verdict = "matters much" if interval.low >= MATTERS_MUCH else "matters"
    return (
        f"Matching {verdict}: it costs this program {_spread(interval)} of {_software(answer)} in "
        f"{interval.recordings} recordings{limit}{_apart(answer)}"
    )


def _spread(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)} (median {percent(interval.median)})"


def _ranks(answer: Answer) -> str:
    ranks = answer.ranks
    if ranks is None:
        return "There are no data on single ranks."
    where = f"In {answer.shown} on" if len(answer.costs) > 1 else "On"
    return f"{where} {answer.reference}, {_rank_text(ranks)}"


def _rank_text(ranks: Ranks) -> str:
    if ranks.pattern == "none":
        return f"none of the {ranks.count} ranks waits for matching."
    median, most = percent(ranks.median_share), percent(ranks.worst_share)
    if ranks.count == 1:
        return f"rank {ranks.worst} waits for matching for {most} of its run time."
    if ranks.pattern == "all":
        who = "both ranks" if ranks.count == 2 else f"all {ranks.count} ranks"
        return (
            f"{who} wait about equally long for matching: {median} of their run time (median), "
            f"at most {most} (rank {ranks.worst})."
        )
    few = len(ranks.concerned)
    if ranks.pattern == "few":
        noun, verb = ("rank", "accounts") if few == 1 else ("ranks", "account")
        which = f"{noun} {_list([str(rank) for rank in ranks.concerned], 'more')} of {ranks.count} {verb}"
    else:
        which = f"{few} of the {ranks.count} ranks account"
    whose = "" if ranks.concerned == (ranks.worst,) else f"rank {ranks.worst} "
    waits = f"{whose or 'it '}waits for {most} of its run time"
    return f"{which} for {percent(ranks.share)} of the waiting; {waits}."


def _engines(answer: Answer) -> str:
    """Say which engines are as good as the fastest, and which ones are not ranked."""
    text = _ranking(answer)
    if not answer.implausible:
        return text
    if not answer.classes:
        text = "No other engine finished the replay of a trace."
    names = _list([*answer.implausible], "more", _FEW)
    which = f"{names} {'is' if len(answer.implausible) == 1 else 'are'} implausible and not ranked"
    first, reason = next(iter(answer.implausible.items()))
    whose = f"{first}: " if len(answer.implausible) > 1 else ""
    return f"{text.removesuffix('.')}; {which}: {whose}{reason}."


def _ranking(answer: Answer) -> str:
    """Say which engines are as good as the fastest, and how much slower the others are."""
    text = _class_text(answer)
    if not answer.borderline:
        return text
    names = [
        f"{name} ({percent(each.low)} to {percent(each.high)} slower)"
        for name, each in answer.borderline.items()
    ]
    return f"{text[:-1]}; at the threshold of {percent(answer.threshold)}: {_list(names, 'more', _FEW)}."


def _class_text(answer: Answer) -> str:
    classes = answer.classes
    if not classes:
        if answer.refused and not answer.costs:
            return "The table compares engines on the replayed part only; it does not describe the program."
        return "No simulated engine finished the replay of a trace."
    first, others = classes[0], classes[1:]
    differ = f"differ by less than {percent(answer.threshold)}"
    if answer.threshold > MATTERS:
        differ += ", the uncertainty of the assumed parameters"
    if answer.simulated == 1:
        return f"Only one engine was compared: {first.engines[0]} ({_range(first)})."
    if not others and len(first.engines) == answer.simulated:
        whole = "Both" if answer.simulated == 2 else f"All {answer.simulated}"
        return f"{whole} engines {differ} ({_range(first)})."
    slower = [f"{_list(each.engines, 'more', _FEW)} ({_ratios(each)})" for each in others]
    if not others:
        rest = ""
    elif len(slower) > _FEW:
        count = sum(len(each.engines) for each in others[:-1])
        rest = f"; {count} engines are in {len(others) - 1} slower classes, and {slower[-1]} is the slowest"
    else:
        rest = f"; {_and(slower)} {'is' if len(others) == len(others[0].engines) == 1 else 'are'} slower"
    if len(first.engines) == 1:
        return f"{first.engines[0]} is the fastest of {answer.simulated} engines ({_range(first)}){rest}."
    return (
        f"{len(first.engines)} of {answer.simulated} engines {differ} ({_range(first)}): "
        f"{_list(first.engines, 'more')}{rest}."
    )


def _range(each: EngineClass) -> str:
    return f"slowdown {_ratios(each)}"


def _ratios(each: EngineClass) -> str:
    low, high = f"{each.fastest:.3f}", f"{each.slowest:.3f}"
    return low if low == high else f"{low} to {high}"


def _changes(answer: Answer) -> str:
    if answer.base is None or not answer.changes:
        return "No replay shows what would change this."
    where = f"In {answer.shown} on" if len(answer.costs) > 1 else "On"
    about = f"{where} {answer.reference}, matching would"
    if answer.interval and answer.interval.straddles(MATTERS):
        text = _would_cost(answer, about)
    elif answer.base < MATTERS:
        text = _would_matter(answer, about)
    else:
        text = _would_not_matter(answer, about)
    if (polling := answer.polling) is None:
        return text
    rule = "replayed as recorded" if polling.rule == "recorded" else "replaced by waiting"
    return f"{text[:-1]}; this depends on polling: with polls {rule}, the cost is {_by_polls(polling)}."


def _by_polls(polling: Polling) -> str:
    cost = percent(polling.cost)
    return (
        cost
        if abs(polling.ratio - 1) < MATTERS_MUCH
        else f"{cost} and the run time {polling.ratio:.2g} times as long"
    )


def _would_cost(answer: Answer, about: str) -> str:
    """Say what the changes do to a cost at the threshold."""
    depths = [_deeper(each) for each in answer.changes if each.change == "depth"][:1]
    faster = [_cheaper(each) for each in answer.changes if each.change == "matching"][:1]
    return f"{about} cost more with {_or(depths)}, and less with {_or(faster)}."


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
    parts = [_rests(answer), *_unvaried(trust), *_arrivals(trust), *_recordings(answer)]
    if measured := trust.measured:
        parts.append(f"{measured} {'rows were' if measured > 1 else 'row was'} measured on this host")
    return f"Confidence: {'; '.join(parts)}."


def _rests(answer: Answer) -> str:
    """Name what the cost rests on most, with its source and what it does to the cost."""
    trust = answer.trust
    cost = f"the cost on {answer.reference}"
    if not trust.varied and not trust.changed:
        return f"the sensitivity of {cost} was not tested"
    others = f" and {_and([_CHANGED[name] for name in trust.changed])}" if trust.changed else ""
    if not trust.rests:
        noun = "parameter" if trust.varied == 1 else "parameters"
        return f"{cost} is insensitive to {trust.varied} varied {noun}{others}"
    first = next((each for each in trust.rests if each.source is not None), None)
    return f"{cost} depends most on {_and([_rest(each, told=each is not first) for each in trust.rests])}"


def _rest(each: Rest, *, told: bool) -> str:
    """Give source and costs; that a parameter was doubled and halved is told once."""
    low, high = percent(each.low), percent(each.high)
    costs = high if low == high else f"{low} to {high}"
    if each.source is None:
        return f"{_CHANGED[each.name]} ({costs} {_OTHERWISE[each.name]})"
    how = "" if told else " if halved or doubled"
    return f"{each.name} ({_SOURCES.get(each.source, each.source)}; {costs}{how})"


def _unvaried(trust: Trust) -> Iterator[str]:
    if trust.unvaried:
        yield f"all parameters of {_list(trust.unvaried, 'more', _FEW)} are assumed, and were not varied"


def _arrivals(trust: Trust) -> Iterator[str]:
    """Put the unexpected share of the replay beside the bound of the recording."""
    replayed, recorded = trust.unexpected, trust.unexpected_recorded
    if replayed is not None and recorded is not None and abs(replayed - recorded) >= ARRIVALS_DIFFER:
        yield (
            f"{percent(replayed)} of the messages are unexpected in the replay, "
            f"at most {percent(recorded)} in the recording"
        )


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
        yield f"{traces} not record whether ranks shared processors"
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
