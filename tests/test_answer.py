# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The answer of a comparison, on tables and traces whose answer is known."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import polars as pl
import pytest

import matchbench as mb
from matchbench.compare import answer_text, columns, reference, thresholds, variations
from matchbench.native_types import Report


def table(name: str, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Make a table with the columns that matter, and null in the others."""
    schema = columns.TABLES[name]
    return pl.DataFrame([{**dict.fromkeys(schema), **row} for row in rows], schema=schema)


def constructed(
    costs: Mapping[str, float],
    *,
    waits: Sequence[float] = (10.0, 10.0, 10.0, 10.0),
    engines: Mapping[str, Sequence[float]] | None = None,
    variations: Sequence[tuple[str, float, float]] = (),
    parameters: Mapping[tuple[str, str], tuple[float, float]] | None = None,
    **recorded: object,
) -> mb.Comparison:
    """Make a comparison: cost by trace, waits of each rank in 1000 ns, slowdowns, costs after changes."""
    worst = max(costs, key=lambda trace: costs[trace])
    told = {"host_ranks": 4, "host_processors": 4, "state": "complete", "matches": 1, **recorded}
    one = {"part": None, "parameter": None, "source": None}
    changes: list[dict[str, object]] = [
        {"trace": worst, "change": change, "factor": factor, **one, "cost_share": cost}
        for change, factor, cost in (("none", 1.0, costs[worst]), *variations)
    ]
    for (name, source), after in (parameters or {}).items():
        part, _, parameter = name.partition(".")
        about = {
            "trace": worst,
            "change": "parameter",
            "part": part,
            "parameter": parameter,
            "source": source,
        }
        changes += [
            {**about, "factor": factor, "cost_share": cost}
            for factor, cost in zip((2.0, 0.5), after, strict=True)
        ]
    empty = {name: pl.DataFrame(schema=schema) for name, schema in columns.TABLES.items()}
    rows = [
        {
            "trace": trace,
            "engine": label.partition(":")[0],
            "preset": label.partition(":")[2],
            "timing": "simulated",
            "keeps_order": True,
            "finished": True,
            "slowdown": slowdown,
        }
        for label, slowdowns in (engines or {"linear:software": [1.0] * len(costs)}).items()
        for trace, slowdown in zip(costs, slowdowns, strict=True)
    ]
    ranks = [
        {"trace": trace, "rank": rank, "time_ns": 1000.0, "blocked_on_matching_ns": wait_ns}
        for trace in costs
        for rank, wait_ns in enumerate(waits)
    ]
    filled = {
        "results": table("results", rows),
        "reference": table(
            "reference",
            [
                {"trace": trace, "engine": "linear", "preset": "software", "cost_share": cost, **told}
                for trace, cost in costs.items()
            ],
        ),
        "reference_ranks": table("reference_ranks", ranks),
        "variations": table("variations", changes),
    }
    return mb.Comparison(**{**empty, **filled}, remarks=())


def test_a_program_without_matching_cost() -> None:
    found = constructed({"t": 0.0}, waits=[0.0] * 8).answer
    assert found.ranks is not None
    assert (found.ranks.pattern, found.ranks.concerned) == ("none", ())
    said = found.sentences
    assert said["matters"] == (
        "Matching does not matter: it costs this program 0 % of its run time with matching in software "
        "(linear:software), "
        "below the threshold of 1 %."
    )
    assert said["ranks"] == "On linear:software, none of the 8 ranks waits for matching."
    partitioned = constructed({"t": 0.0}, matches=0, partitioned=40).answer.sentences
    assert partitioned["matters"] == (
        "Matching costs this program nothing: 40 messages are partitioned, and their starts are not matched."
    )
    silent = constructed({"t": 0.0}, matches=0).answer.sentences
    assert silent["matters"] == "Matching costs this program nothing: no message matched a receive."


def test_one_rank_with_deep_queues_is_named() -> None:
    found = constructed({"shallow": 0.001, "t": 0.3}, waits=[1.0, 1.0, 1.0, 400.0, 1.0, 1.0]).answer
    assert found.worst == "t"
    assert found.ranks is not None
    assert (found.ranks.pattern, found.ranks.concerned, found.ranks.worst) == ("few", (3,), 3)
    assert found.ranks.share == pytest.approx(400 / 405)
    assert found.sentences["matters"] == (
        "Matching matters much for 1 of the 2 programs: t loses the most, 30 % of its run time with "
        "matching in software "
        "(linear:software)."
    )
    assert found.sentences["ranks"] == (
        "In t on linear:software, rank 3 of 6 accounts for 99 % of the waiting; it waits for 40 % of its "
        "run time."
    )


def test_all_ranks_alike_and_an_uneven_share_are_told_apart() -> None:
    alike = constructed({"t": 0.02}, waits=[20.0, 18.0, 22.0, 19.0]).answer
    assert alike.sentences["matters"].startswith("Matching matters: ")
    assert alike.sentences["ranks"] == (
        "On linear:software, all 4 ranks wait about equally long for matching: 1.9 % of their run time "
        "(median), at most 2.2 % (rank 2)."
    )
    uneven = constructed({"t": 0.08}, waits=[90.0, 80.0, 60.0, 10.0, 10.0, 5.0, 5.0, 5.0]).answer
    assert uneven.sentences["matters"].startswith("Matching matters much: ")
    assert uneven.sentences["ranks"] == (
        "On linear:software, 4 of the 8 ranks account for 91 % of the waiting; rank 0 waits for 9 % of its "
        "run time."
    )


def test_engines_within_the_threshold_in_every_trace_are_one_class() -> None:
    engines = {"a:x": [1.0, 1.0], "b:x": [1.009, 1.0], "c:x": [1.0, 1.011], "d:x": [2.0, 2.0]}
    found = constructed({"s": 0.001, "t": 0.002}, engines=engines).answer
    assert [each.engines for each in found.classes] == [("a:x", "b:x"), ("c:x",), ("d:x",)]
    assert found.sentences["engines"] == (
        "2 of 4 engines differ by less than 1 % (slowdown 1.000 to 1.004): a:x and "
        "b:x; c:x (1.005) and d:x (2.000) are slower."
    )


def test_the_noise_of_assumed_parameters_raises_the_threshold() -> None:
    engines = {"a:x": [1.0], "b:x": [1.03]}
    quiet = {("network.gap", "assumed"): (0.02, 0.02), ("network.latency", "paper"): (0.07, 0.02)}
    assert constructed({"t": 0.02}, engines=engines, parameters=quiet).answer.threshold == 0.01
    noisy = {("network.gap", "assumed"): (0.06, 0.01), ("network.latency", "paper"): (0.02, 0.02)}
    found = constructed({"t": 0.02}, engines=engines, parameters=noisy).answer
    assert found.threshold == pytest.approx(0.04)
    assert found.sentences["engines"] == (
        "Both engines differ by less than 4 %, the uncertainty of the assumed parameters (slowdown 1.000 to "
        "1.030)."
    )
    assert found.sentences["trust"] == (
        "Confidence: the cost on linear:software depends most on network.gap (assumed; 1 % to 6 % if halved "
        "or doubled)."
    )


def test_many_classes_are_counted_and_many_names_too() -> None:
    engines = {f"{name}:x": [1.0 + 0.1 * at] for at, name in enumerate("abcde")}
    found = constructed({"t": 0.02}, engines=engines).answer
    assert found.sentences["engines"] == (
        "a:x is the fastest of 5 engines (slowdown 1.000); 3 engines are in 3 "
        "slower classes, and e:x (1.400) is the slowest."
    )
    alike = {f"{name}:x": [1.0] for name in "abcdefgh"} | {"z:x": [2.0]}
    assert constructed({"t": 0.02}, engines=alike).answer.sentences["engines"] == (
        "8 of 9 engines differ by less than 1 % (slowdown 1.000): a:x, b:x, c:x, d:x, "
        "e:x and 3 more; z:x (2.000) is slower."
    )
    parameters = {("network.a", "assumed"): (0.06, 0.01), ("network.b", "paper"): (0.07, 0.02)}
    assert constructed({"t": 0.02}, parameters=parameters).answer.sentences["trust"] == (
        "Confidence: the cost on linear:software depends most on network.b (from a paper; 2 % to 7 % if "
        "halved or doubled) and network.a (assumed; 1 % to 6 %)."
    )


def test_the_least_depth_that_matters_is_named() -> None:
    variations = [("depth", 10.0, 0.004), ("depth", 100.0, 0.04), ("depth", 1000.0, 0.3)]
    variations += [("compute", 0.1, 0.012), ("compute", 10.0, 0.0001), ("network", 0.1, 0.0013)]
    said = constructed({"t": 0.001}, variations=variations).answer.sentences["changes"]
    assert said == (
        "On linear:software, matching would matter with queues 100 times as deep (4 %) or processors 10 "
        "times as "
        "fast (1.2 %)."
    )
    never = [("depth", 1000.0, 0.002), ("compute", 0.1, 0.002), ("network", 0.1, 0.001)]
    assert constructed({"t": 0.001}, variations=never).answer.sentences["changes"] == (
        "On linear:software, matching would not matter with queues 1 000 times as deep (0.2 %), processors "
        "10 "
        "times as fast (0.2 %) or a network 10 times as fast (0.1 %) either."
    )


def test_what_would_make_matching_cheap_is_named() -> None:
    variations = [
        ("depth", 10.0, 0.9),
        ("matching", 0.1, 0.009),
        ("compute", 10.0, 0.02),
        ("compute", 0.1, 0.5),
    ]
    said = constructed({"t": 0.2}, variations=variations).answer.sentences["changes"]
    assert said == (
        "On linear:software, matching would not matter with the engine 10 times as fast (0.9 %); with "
        "queues 10 "
        "times as deep (90 %) it would cost more."
    )


def test_the_recording_is_part_of_the_trust() -> None:
    crowded = constructed({"t": 0.1}, host_ranks=64, host_processors=2, waiting_share=0.4, state="cut").answer
    assert crowded.sentences["trust"] == (
        "Confidence: the sensitivity of the cost on linear:software was not tested; t was recorded with "
        "32 ranks per processor, which waited for a processor for 40 % of the time; trace or replay is "
        "incomplete: t."
    )
    unknown = constructed({"t": 0.1}, host_ranks=None, host_processors=None).answer
    assert "t does not record whether ranks shared processors" in unknown.sentences["trust"]


def test_a_trace_that_did_not_finish_has_no_answer() -> None:
    found = constructed({"t": 0.1})
    nothing = found.reference.with_columns(cost_share=pl.lit(None, dtype=pl.Float64))
    said = dataclasses.replace(found, reference=nothing).answer.sentences
    assert said["matters"] == "It is unknown whether matching matters: no trace finished its replay."


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.00001, "less than 0.01 %"), (0.00512, "0.51 %"), (0.0999, "10 %"), (0.123, "12 %")],
)
def test_a_share_has_two_digits(share: float, text: str) -> None:
    assert answer_text.percent(share) == text


def test_a_replay_of_deep_queues_has_the_answer_of_its_formula(tmp_path: Path) -> None:
    """A receiver that computes nothing, behind 64 receives: the cost follows from the time per entry."""
    trace = mb.generate("depth", tmp_path / "deep", ranks=2, settings={"iterations": 10, "depth": 64})
    found = mb.compare(trace, ["ideal", "linear:software"])
    rows = {(row["change"], row["factor"]): row for row in found.variations.to_dicts()}
    base = rows["none", 1.0]
    software = found.results.filter(engine="linear")["time_ns"].item()
    zero = found.results.filter(engine="ideal")["time_ns"].item()
    assert (base["time_ns"], base["zero_ns"]) == (software, zero)
    assert base["cost_share"] == 1 - zero / software == found.answer.costs["deep"]
    # Time is linear in the time per entry: ten times the time adds nine times what doubling adds.
    doubled = found.variations.filter(parameter="entry", factor=2.0)["time_ns"].item() - software
    assert rows["depth", 10.0]["time_ns"] - software == pytest.approx(9 * doubled, rel=1e-9)
    assert set(found.queues["rank"]) <= {0, 1}
    longest = found.queues.group_by("rank").agg(pl.col("posted_max").max())
    by_rank = dict(found.reference_ranks.select("rank", "posted_max").iter_rows())
    assert longest.height > 0
    assert all(by_rank[rank] == posted for rank, posted in longest.iter_rows())


def test_the_reference_of_the_user_takes_the_place_of_the_preset(deep: mb.Trace) -> None:
    chosen = mb.choose_engines(["linear:software"], {"entry": 50})
    found = mb.compare(deep, chosen)
    assert found.answer.reference == "linear:software+"
    assert found.reference["time_ns"].item() == found.results.filter(engine="linear")["time_ns"].item()
    assert variations.PRESET == "software"
    assert thresholds.MATTERS == 0.01


def test_the_largest_share_of_a_rank_is_never_below_the_median() -> None:
    found = constructed({"t": 0.01}, waits=[93.0, 90.0, 95.0, 94.0])
    # The rank that waits longest also runs longest: its share is the smallest.
    longest = pl.when(pl.col("rank") == 2).then(2000.0).otherwise(pl.col("time_ns"))
    ranks = found.reference_ranks.with_columns(time_ns=longest)
    said = dataclasses.replace(found, reference_ranks=ranks).answer
    assert said.sentences["ranks"] == (
        "On linear:software, all 4 ranks wait about equally long for matching: 9.2 % of their run time "
        "(median), at most 9.4 % (rank 3)."
    )


def varied(*rows: tuple[str, float]) -> list[dict[str, object]]:
    """Give rows of table `variations` for things of the recording."""
    nothing = {"part": None, "parameter": None, "source": None}
    return [
        {"trace": "t", "change": name, "factor": 1.0, **nothing, "cost_share": cost} for name, cost in rows
    ]


def test_the_three_things_that_change_the_cost_most_are_named_with_their_sources() -> None:
    parameters = {
        ("engine.entry", "measured"): (0.03, 0.015),
        ("engine.operation", "paper"): (0.025, 0.018),
        ("network.gap", "assumed"): (0.021, 0.0199),  # less than a tenth
        ("network.latency", "user"): (0.0225, 0.02),
    }
    found = constructed({"t": 0.02}, parameters=parameters)
    more = pl.concat([found.variations, table("variations", varied(("shared", 0.008), ("wildcards", 0.02)))])
    trust = dataclasses.replace(found, variations=more).answer.trust
    assert [each.name for each in trust.rests] == ["shared", "engine.entry", "engine.operation"]
    assert (trust.varied, trust.changed) == (4, ("shared", "wildcards"))
    assert dataclasses.replace(found, variations=more).answer.sentences["trust"] == (
        "Confidence: the cost on linear:software depends most on shared processors (0.8 % if the time that "
        "ranks "
        "waited for processors is computation), engine.entry (measured; 1.5 % to 3 % if halved or doubled) "
        "and engine.operation (from a paper; 1.8 % to 2.5 %)."
    )
    quiet = {("network.gap", "assumed"): (0.021, 0.0199)}
    assert constructed({"t": 0.02}, parameters=quiet).answer.sentences["trust"] == (
        "Confidence: the cost on linear:software is insensitive to 1 varied parameter."
    )


def test_computed_arrivals_are_put_beside_what_the_recording_allows() -> None:
    parameters = {("network.latency", "assumed"): (0.03, 0.02)}
    found = constructed({"t": 0.02}, parameters=parameters, unexpected_share=0.13, unexpected_recorded=0.49)
    rows = table("variations", varied(("arrivals", 0.05), ("arrivals", 0.01)))
    more = dataclasses.replace(found, variations=pl.concat([found.variations, rows]))
    # The latency is named once, by the larger change of it.
    assert more.answer.sentences["trust"] == (
        "Confidence: the cost on linear:software depends most on arrival times (1 % to 5 % with a tenth and "
        "ten times the network latency); 13 % of the messages are unexpected in the replay, at most 49 % in "
        "the "
        "recording."
    )
    near = constructed({"t": 0.02}, unexpected_share=0.13, unexpected_recorded=0.2).answer
    assert "unexpected" not in near.sentences["trust"]


def test_an_engine_of_assumed_parameters_is_named_beside_the_engine_that_the_answer_speaks_of() -> None:
    found = constructed(
        {"t": 0.02},
        engines={"linear:software": [1.02], "mine:default": [1.0], "other:x": [1.0]},
        parameters={("engine.entry", "measured"): (0.03, 0.015)},
    )
    rows = [
        {"engine": engine, "preset": preset, "part": "engine", "parameter": name, "source": source}
        for engine, preset, name, source in (
            ("mine", "default", "library", "user"),
            ("mine", "default", "entry", "assumed"),
            ("other", "x", "entry", "assumed"),
            ("other", "x", "operation", "paper"),
        )
    ]
    said = dataclasses.replace(found, parameters=table("parameters", rows)).answer.sentences["trust"]
    assert said == (
        "Confidence: the cost on linear:software depends most on engine.entry (measured; 1.5 % to 3 % if "
        "halved or doubled); all parameters of mine:default are assumed, and were not varied."
    )


def test_the_other_rule_of_polls_is_named_only_where_it_changes_the_answer() -> None:
    def said(base: float, cost: float, ratio: float = 1.0) -> str:
        found = constructed({"t": base}, variations=[("depth", 10.0, 0.9), ("matching", 0.1, 0.0)])
        rows = [
            {"trace": "t", "change": change, "factor": 1.0, "cost_share": share, "time_ns": time_ns}
            for change, share, time_ns in (("polls", cost, 1000.0 * ratio), ("none", base, 1000.0))
        ]
        changes = found.variations.filter(pl.col("change") != "none")
        return dataclasses.replace(
            found, variations=pl.concat([table("variations", rows), changes])
        ).answer.sentences["changes"]

    assert said(0.009, 0.034).endswith(
        "; this depends on polling: with polls replayed as recorded, the cost is 3.4 %."
    )
    assert said(0.02, 0.0005, 18.0).endswith(
        "; this depends on polling: with polls replayed as recorded, the cost is 0.05 % and the run time 18 "
        "times as long."
    )
    assert "polling" in said(0.0099, 0.0101)  # on two sides of the threshold
    assert "polling" not in said(0.002, 0.008)
    assert "polling" not in said(0.03, 0.036)


def test_the_queues_that_are_shown_are_of_the_ranks_that_wait_for_most_of_their_time() -> None:
    ranks = {
        "rank": [0, 1, 2, 3, 4],
        "blocked_on_matching_ns": [10.0, 40.0, 30.0, 20.0, 0.0],
        "time_ns": [20.0, 400.0, 100.0, 100.0, 0.0],
        "posted_max": [1, 1, 1, 1, 0],
        "unexpected_max": [0, 0, 0, 0, 0],
    }
    assert reference._worst_ranks(cast("Report", {"ranks": ranks})) == [0, 2, 3]
