# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweeps: results equal to those of `compare`, whatever was in the cache, was killed or was interrupted."""

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import matchbench as mb
from matchbench.cli import main
from matchbench.native_types import Report
from matchbench.sweep import space
from matchbench.sweep.cache import Cache
from matchbench.sweep.hardware import Costs
from matchbench.sweep.result import Sweep, result_of
from matchbench.sweep.run import Status, SweepRun
from matchbench.sweep.space import Axis, Design
from matchbench.sweep.study import Study, read_study
from matchbench.sweep.workers import LocalWorkers, Task, replay
from tests import shared
from tests.processes import started, wait_until

VALUES = ("4", "16", "32", "128")
FILES = ("variants.csv", "points.csv", "parameters.csv", "sweep.json", "study.toml", "report.html")


class Here:
    """Replays in this process, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report]]:
        """Replay one after the other."""
        for task in tasks:
            self.count += 1
            yield task, replay(task)

    def close(self) -> None:
        """Do nothing: there is no process."""


def study_of(*traces: mb.Trace, **fields: object) -> Study:
    designs = (Design(name="cam", engine="cam_list", settings={}, axes=(Axis(key="cam", values=VALUES),)),)
    common: dict[str, object] = {"question": "How large?", "designs": designs, "config": mb.ReplayConfig()}
    paths = tuple(trace.path for trace in traces)
    return Study(traces=paths, **{**common, **fields})  # type: ignore[arg-type] # fields of any type


def swept(
    traces: list[mb.Trace], cache: Path | None, workers: Here | LocalWorkers | None = None, **fields: object
) -> tuple[Sweep, Status]:
    run = SweepRun(
        study_of(*traces, **fields),
        traces,
        workers=workers or Here(),
        cache=Cache(cache),
        costs=Costs(),
    )
    run.work()
    return result_of(run), run.status


@pytest.fixture(scope="module")
def filled(halo: mb.Trace, deep: mb.Trace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Sweep]:
    """Make a cache and the sweep that filled it."""
    cache = tmp_path_factory.mktemp("filled")
    return cache, swept([halo, deep], cache)[0]


def same(one: Sweep, other: Sweep) -> bool:
    tables = ("variants", "points", "parameters")
    equal = all(getattr(one, name).equals(getattr(other, name)) for name in tables)
    return equal and (one.answer, one.remarks) == (other.answer, other.remarks)


def test_a_variant_has_the_row_that_a_comparison_gives(
    halo: mb.Trace, deep: mb.Trace, filled: tuple[Path, Sweep]
) -> None:
    points = filled[1].points
    engines = [mb.engine("cam_list", cam=int(value)) for value in VALUES]
    rows = mb.compare([halo, deep], engines).results
    key = ["trace", "parameter_hash"]
    mine = points.drop("variant", "design", "cam_list.cam").sort(key)
    theirs = rows.filter(pl.col("engine") == "cam_list").sort(key)
    assert mine.height == 2 * len(VALUES)
    assert mine.select(theirs.columns).equals(theirs)
    assert points["cam_list.cam"].to_list() == [int(value) for value in VALUES for _ in range(2)]


def test_means_over_traces_are_geometric_and_the_deepest_cam_is_fastest(filled: tuple[Path, Sweep]) -> None:
    sweep = filled[1]
    for row in sweep.variants.iter_rows(named=True):
        mine = sweep.points.filter(variant=row["variant"])
        assert row["slowdown"] == pytest.approx((mine["slowdown"][0] * mine["slowdown"][1]) ** 0.5, rel=1e-15)
        assert row["slowdown_max"] == mine["slowdown"].max()
    # 64 receives are ahead of each match of `deep`: only the largest CAM holds them all.
    assert sweep.variants.filter("best")["variant"].to_list() == ["cam=128"]
    assert sweep.variants["engine_entries"].to_list() == [2 * int(value) for value in VALUES]


def test_results_in_the_cache_are_not_replayed(
    halo: mb.Trace, deep: mb.Trace, filled: tuple[Path, Sweep]
) -> None:
    workers = Here()
    again, status = swept([halo, deep], filled[0], workers)
    assert (workers.count, status.cached, status.done, status.total) == (0, 10, 10, 10)
    assert same(again, filled[1])


@pytest.mark.parametrize("fault", ["cut", "flipped", "empty", "swapped", "a list"])
def test_a_damaged_result_is_noticed_and_replayed_again(fault: str, deep: mb.Trace, tmp_path: Path) -> None:
    first, _ = swept([deep], tmp_path)
    one, other = sorted(path for path in tmp_path.rglob("*") if path.is_file())[:2]
    content = one.read_bytes()
    changed = {
        "cut": content[:-1],
        "flipped": content[:200] + bytes([content[200] ^ 1]) + content[201:],
        "empty": b"",
        "swapped": other.read_bytes(),
        "a list": hashlib.sha256(packed := zlib.compress(b"[1]")).hexdigest().encode() + packed,
    }
    one.write_bytes(changed[fault])
    workers = Here()
    again, status = swept([deep], tmp_path, workers)
    assert (workers.count, status.damaged) == (1, 1)
    assert same(again, first)
    assert one.read_bytes() == content


def test_another_network_has_other_results_in_the_cache(deep: mb.Trace, tmp_path: Path) -> None:
    swept([deep], tmp_path)
    workers = Here()
    swept([deep], tmp_path, workers, config=mb.ReplayConfig(network_parameters={"latency": 3000}))
    assert workers.count == 1 + len(VALUES)


def test_a_killed_process_is_replaced_and_the_result_is_the_same(
    halo: mb.Trace, deep: mb.Trace, filled: tuple[Path, Sweep]
) -> None:
    class Killing(LocalWorkers):
        killed = 0

        def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report]]:
            def killing() -> Iterator[Task]:
                for at, task in enumerate(tasks):
                    if at in (1, 4):
                        # It was sent its task a moment ago, and still imports or replays.
                        for worker in self._busy:
                            os.kill(worker.process.pid or 0, signal.SIGKILL)
                            self.killed += 1
                    yield task

            return super().run(killing())

    workers = Killing(2)
    try:
        sweep, _ = swept([halo, deep], None, workers)
    finally:
        workers.close()
    assert workers.killed >= 2
    assert same(sweep, filled[1])


def test_a_replay_whose_process_always_dies_is_named(deep: mb.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    from matchbench.sweep import workers as module

    started = module._Worker.send

    def send(self: module._Worker, task: Task) -> None:
        started(self, task)
        self.process.kill()

    monkeypatch.setattr(module._Worker, "send", send)
    workers = LocalWorkers(1)
    with pytest.raises(mb.MatchbenchError) as error:
        swept([deep], None, workers)
    workers.close()
    assert (
        str(error.value)
        == "deep on ideal:zero: no result, its process ended 3 times; check that there is enough memory"
    )


def test_an_interrupted_sweep_is_usable_and_continues_to_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = mb.generate("halo3d", tmp_path / "halo", ranks=27, settings={"iterations": 200})
    words = ["sweep", trace.path, "-e", "cam_list", "--set", "cam=1..128 *2", "-j", "1"]
    command = [sys.executable, "-m", "matchbench", *map(str, words)]
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "kept"

    def results() -> int:
        # The name of a file that the signal left unfinished begins with a dot.
        return sum(path.is_file() for path in kept.rglob("[0-9a-f]*"))

    # With a lower priority, so that it is not done before the signal comes.
    slowly = ["nice", "-n", "5", *command, "-o", "a", "--cache", str(kept)]
    with started(slowly, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: results() >= 3, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 130, said
    found = json.loads((tmp_path / "a" / "sweep.json").read_text())
    assert found["finished"] is False
    assert 1 <= pl.read_parquet(tmp_path / "a" / "variants.parquet").height < 8
    assert found["answer"][0].startswith("Not finished: ")
    before = results()
    again = shlex.split(said.split("`")[1])
    assert main(again[1:]) == 0
    assert results() == 9 > before
    assert main([*map(str, words), "-o", "b", "--no-cache"]) == 0
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert main(again[1:]) == 2  # finished results are not replaced without --force


def test_a_time_limit_keeps_what_is_done(deep: mb.Trace, tmp_path: Path) -> None:
    run = SweepRun(
        study_of(deep, budget_s=1e-9),
        [deep],
        workers=Here(),
        cache=Cache(tmp_path),
        costs=Costs(),
    )
    run.work()
    assert (run.limited, run.finished, result_of(run).variants.height) == (True, False, 0)


def test_a_sweep_that_reached_its_time_limit_continues_in_the_same_folder(
    deep: mb.Trace, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", str(deep.path), "-e", "cam_list", "--set", "cam=4,8", "--cache", str(tmp_path / "c")]
    words += ["-o", str(tmp_path / "o"), "--table-only"]
    assert main([*words, "--budget", "0.000001 s"]) == 1
    assert capfd.readouterr().err == "matchbench: the time limit was reached; the same command continues\n"
    assert pl.read_parquet(tmp_path / "o" / "variants.parquet").is_empty()
    assert main([*words, "--budget", "1 h"]) == 0
    assert pl.read_parquet(tmp_path / "o" / "variants.parquet").height == 2
    assert main([*words, "--budget", "1 h"]) == 2


def test_combinations_that_contradict_themselves_and_repeat_others_are_left_out(deep: mb.Trace) -> None:
    axes = (Axis(key="message", values=("64", "128")), Axis(key="word", values=("4", "4.0", "128")))
    design = Design(name="lhs", engine="lhs", settings={}, axes=axes)
    with pytest.raises(mb.MatchbenchError) as error:
        swept([deep], None, designs=(design,))
    assert "word" in str(error.value)


def test_a_sweep_without_a_valid_variant_names_the_first_value_and_its_reason(
    deep: mb.Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "_check", lambda _: None)  # as with too many variants to try all
    words = ["sweep", str(deep.path), "-e", "cam_list", "-s", "list_entries=100", "-s", "lists=8,16"]
    assert main([*words, "--no-cache", "-o", str(tmp_path / "o")]) == 2
    said = capsys.readouterr().err
    reason = "`list_entries` is 100, which 8 lists cannot share evenly"
    assert said.startswith("matchbench: lists=8: ")
    assert reason in said
    assert said.endswith("; expected a valid variant, and none of 2 is\n")
    assert said.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_a_random_sample_depends_on_the_seed_alone(deep: mb.Trace, tmp_path: Path) -> None:
    axes = (Axis(key="cam", values=VALUES), Axis(key="lists", values=("1", "2", "4", "8")))
    designs = (Design(name="cam", engine="cam_list", settings={}, axes=axes),)
    one, two, other = (
        swept([deep], tmp_path, designs=designs, method="random", variants=5, seed=seed)[0].variants[
            "variant"
        ]
        for seed in (1, 1, 2)
    )
    assert one.to_list() == two.to_list() != other.to_list()
    assert len(set(one)) == 5


def test_an_optimizer_finds_the_best_and_repeats_itself(deep: mb.Trace, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="the optimizer is an optional part")
    axes = (Axis(key="cam", values=tuple(map(str, range(8, 136, 8)))),)
    designs = (Design(name="cam", engine="cam_list", settings={}, axes=axes),)
    fields: dict[str, Any] = {
        "designs": designs,
        "method": "optimizer",
        "variants": 12,
        "objectives": ("time", "engine_entries"),
    }
    one, two = (swept([deep], cache, **fields)[0] for cache in (tmp_path, None))
    assert same(one, two)
    assert one.variants.height == 12


def test_published_areas_are_those_of_the_claims() -> None:
    claims = shared.claims()
    published: list[tuple[str, dict[str, Any], str]] = [
        ("cam_list:two_level", {}, "xiong2018.t1.two_level_alms"),
        ("cam_list:p2l4", {}, "xiong2018.t1.p2l4_alms"),
        ("cam_list:two_level", {"lists": 64}, "xiong2018.t1.p2l64_alms"),
        ("match_unit:hemmert2007", {}, "hemmert2007.area.t4_mu_mm2"),
        ("list_ooo:hemmert2007", {}, "hemmert2007.area.t4_ppc440_mm2"),
        ("list_mt:mt1", {}, "hemmert2007.area.t4_mt1_mm2"),
        ("list_mt:mt2", {}, "hemmert2007.area.t4_mt2_mm2"),
        ("list_mt:mt16", {}, "hemmert2007.area.t4_mt16_mm2"),
    ]
    for spec, parameters, claim in published:
        area = Costs().of(mb.engine(spec, **parameters)).area
        assert area is not None, spec
        assert (area.value, area.kind) == (claims[claim]["value"], "published")
    assert Costs().of(mb.engine("cam_list", cam=128)).area is None
    assert Costs().of(mb.engine("match_unit", head_cache=4)).area is None


def test_areas_of_hardware_come_before_published_ones(tmp_path: Path) -> None:
    file = tmp_path / "areas.toml"
    file.write_text(
        '[[area]]\nengine = "cam_list"\nwhere = { cam = 256 }\nvalue = 2\n'
        'unit = "mm2"\nnode_nm = 45\nsource = "ours"\n'
    )
    area = Costs(file).of(mb.engine("cam_list")).area
    assert area is not None
    # 45 nm to 90 nm: four times the area.
    assert (area.value, area.unit, area.kind, area.source) == (8, "mm2 at 90 nm", "hardware", "ours")


def test_a_study_is_read_as_it_was_written(deep: mb.Trace, tmp_path: Path) -> None:
    study = study_of(
        deep, method="random", variants=7, seed=3, budget_s=90.0, objectives=("latency", "engine_entries")
    )
    (tmp_path / "study.toml").write_text(study.text(tmp_path))
    again = read_study(tmp_path / "study.toml")
    assert again.text(tmp_path) == study.text(tmp_path)
    assert [path.resolve() for path in again.traces] == [deep.path]


def test_a_study_of_figures_may_have_a_sweep(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[1] / "studies"
    figures = (shipped / "xiong2018_figures" / "study.toml").read_text(encoding="utf-8")
    path = tmp_path / "study.toml"
    path.write_text('sweep = { traces = ["t"] }\n' + figures)
    designs = {design.name: design.engine for design in read_study(path).designs}
    assert designs["p2l4"] == "cam_list:p2l4"
    assert read_study(shipped / "cam_entries" / "study.toml").objectives == ("latency", "engine_entries")


STUDY = '[sweep]\ntraces = ["t"]\n[[design]]\nengine = "cam_list"\nvary = ["cam=1,2"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no `sweep`, expected the table `[sweep]`"),
        ("[sweep", "not TOML: "),
        ("[sweep]\n", "found no `design`, expected the table `[[design]]`"),
        (STUDY.replace('["t"]', "[]"), "traces: found none, expected at least one"),
        (STUDY.replace('["t"]', '"t"'), "sweep.traces: found text, `t`, expected a list"),
        (STUDY.replace('["t"]', "[1]"), "sweep.traces: found a whole number, `1` in the list, expected text"),
        (
            STUDY.replace("vary", "varies"),
            "design: unknown key `varies`; expected one of: engine, name",
        ),
        (STUDY.replace("cam=1,2", "cam"), "design.vary: found `cam`, expected KEY=VALUE"),
        (STUDY.replace("engine =", "name ="), "design: found no `engine`, expected"),
        (
            STUDY.replace("traces", "variants = -1\ntraces"),
            "variants: found -1, expected a number of variants",
        ),
        (
            STUDY.replace("traces", "variants = 1.5\ntraces"),
            "sweep.variants: found a number, `1.5`, expected a whole",
        ),
        (
            STUDY.replace("traces", 'budget = "soon"\ntraces'),
            "sweep.budget: found `soon`, expected a time",
        ),
        (
            STUDY.replace("traces", 'method = "all"\ntraces'),
            "unknown method `all`; expected one of: grid, random",
        ),
        (
            STUDY.replace("traces", 'objectives = ["cost"]\ntraces'),
            "unknown objective `cost`; expected one of: time",
        ),
        (STUDY + 'settings = ["cam=3"]\n', "design `cam_list`: found `cam` in `settings` and in `vary`"),
        ('paper = "xiong2018"\n', "found a study of a paper's figures, expected a table `[sweep]`"),
    ],
)
def test_a_damaged_study_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(mb.MatchbenchError) as error:
        read_study(path)
    assert str(error.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--set", "cam=16..4 *2"],
            "--set cam: the range `16..4 *2` is empty: 16 is above 4; exchange its ends",
        ),
        (
            ["--set", "cam=1..4 *1"],
            "--set cam: the step of `1..4 *1` never reaches 4; expected a factor above 1",
        ),
        (
            ["--set", "cam=0..4 *2"],
            "--set cam: the step of `0..4 *2` never reaches 4; expected a factor above 1",
        ),
        (
            ["--set", "cam=1..4 +0"],
            "--set cam: the step of `1..4 +0` never reaches 4; expected a step above 0",
        ),
        (["--set", "cam=1..4"], "--set cam: found `1..4`, expected a range such as"),
        (["--set", "cam=1..9999999 +1"], "--set cam: `1..9999999 +1` has 10000 values or more"),
        (["--set", "cam=1,,2"], "--set cam: found `1,,2`, expected a value between commas"),
        (["--set", "cam=1,2,1"], "--set cam: found the value `1` twice in `1,2,1`; give it once"),
        (["--set", "cam=1", "--set", "cam=2"], "--set: found `cam` twice, as `1` and as `2`; give it once"),
        (["--set", "depth=1,2"], "unknown parameter `depth`; expected one of 19: "),
        (
            ["--set", "alpu.cells=1,2"],
            "parameter `alpu.cells`: `alpu` is not chosen; expected one of: cam",
        ),
        (["--set", "cam=0,1"], "engine `cam_list`: parameter `cam`: found `0`, expected "),
        (["--set", "cam=1,many"], "engine `cam_list`: parameter `cam`: found `many`, expected "),
        (
            ["--set", "cam=1..8 *2", "--variants", "3"],
            "the grid has 4 variants, expected at most 3; take fewer",
        ),
        (["--variants", "0"], "variants: found 0, expected a number of variants, 1 or more"),
        (["--budget", "0 s"], "--budget: found `0 s`, expected a time above 0"),
        (["--method", "best"], "unknown method `best`; expected one of: grid, random, optimizer"),
        (["--plots", "--table-only"], "--plots: cannot be combined with --table-only; give one of them"),
        (["-e", "host_native"], "design `host_native:"),
        (
            ["-e", "linear", "--objectives", "time,engine_entries"],
            "objectives: engine `linear` has no `engine_entries`",
        ),
        (["--areas", "none.toml"], "none.toml: found no such file, expected [[area]] tables"),
        (["--cache", "/proc/none"], "/proc/none: cannot write the cache: "),
        (["-o", "/proc/none"], "/proc/none: cannot create it in /proc: "),
    ],
)
def test_bad_input_is_refused_with_its_place(
    words: list[str], message: str, deep: mb.Trace, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    output = [] if "-o" in words else ["-o", str(tmp_path / "out")]
    assert main(["sweep", str(deep.path), "-e", "cam_list", *words, *output]) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"matchbench: {message}"), said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_results_of_another_sweep_are_kept(
    deep: mb.Trace, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [
        "sweep",
        str(deep.path),
        "-e",
        "cam_list",
        "--cache",
        str(tmp_path / "c"),
        "-o",
        str(tmp_path / "o"),
    ]
    assert main([*words, "--set", "cam=4,8", "--table-only"]) == 0
    before = (tmp_path / "o" / "sweep.json").read_bytes()
    assert main([*words, "--set", "cam=4,16", "--table-only"]) == 2
    assert capfd.readouterr().err.endswith("found earlier output; choose another directory or give --force\n")
    assert (tmp_path / "o" / "sweep.json").read_bytes() == before
