# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench match_unit` as a process, and the files of entries and headers."""

import csv
import json
from pathlib import Path

import pytest

import matchbench as mb
from matchbench import _native
from matchbench.match_unit.common import text_of_write
from matchbench.match_unit.files import read_headers, read_list
from matchbench.match_unit.program import Setup
from tests.conftest import Command
from tests.viewers import Waves, read_kanata

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "match_unit" / "examples" / "list.toml"
HEADERS = ROOT / "match_unit" / "examples" / "headers.toml"
INPUTS = ("--list", LIST, "--headers", HEADERS)
PROGRAMS = [name for name, _ in _native.match_programs()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_finds_the_oldest_entry_that_accepts(program: str) -> None:
    setup = Setup(program, read_list(LIST), read_headers(HEADERS))
    report = setup.run(setup.unit())
    found = [
        None if answer["item"] is None else setup.items[answer["item"]].name for answer in report.answers
    ]
    assert found == ["from rank 3, tag 7", "from any rank, tag 9", "window", None, "early from rank 5"]
    assert [answer["visits"] for answer in report.answers] == [1, 3, 4, 4, 1]
    assert report.cycles == report.words + sum(report.stalls.values())


def test_the_answer_has_offset_and_length() -> None:
    setup = Setup("portals_hemmert2007", read_list(LIST), read_headers(HEADERS))
    answers = setup.run(setup.unit()).answers
    assert [answer["words"][1:] for answer in answers] == [[0, 64], [0, 512], [4096, 256], [], []]


def test_an_entry_that_matched_is_kept_or_removed(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text(
        "name,bits,nid\nfirst,0x00010003_00000007,3\nsecond,0x00010003_00000007,3\n"
    )
    for choice, match in (("keep", "from rank 3, tag 7"), ("remove", "no match")):
        words = ("--headers", "twice.csv", "--after-match", choice, "-o", f"{choice}.csv")
        done = matchbench("match_unit", "run", "mpi", "--list", LIST, *words)
        assert (done.returncode, done.stderr) == (0, "")
        with (tmp_path / f"{choice}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["header"] for row in rows] == ["first", "second"]
        assert [row["match"] for row in rows] == ["from rank 3, tag 7", match]


def test_a_list_in_csv_is_the_list_in_toml(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(
        '[[posted]]\nbits = 0xffff_ffff_ffff_ffff\nignore = 7\nnid = 3\noptions = ["valid", "get"]\n'
        "min_free = 9\n"
        '[[unexpected]]\nname = "one"\nbits = "18"\n'
    )
    (tmp_path / "list.csv").write_text(
        "list,name,bits,ignore,nid,options,min_free\n"
        "posted,,0xffffffffffffffff,7,3,valid get,9\n"
        "unexpected,one,0x12,,any,,\n"
    )
    first, second = read_list(tmp_path / "list.toml"), read_list(tmp_path / "list.csv")
    assert first == second
    assert [item.name for item in first] == ["posted[0]", "one"]
    assert not isinstance(first[0].content, list)
    assert first[0].content["care"] == 0xFFFF_FFFF_FFFF_FFF8
    assert first[0].content["options"] == 0x25


def test_words_stand_for_themselves(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(
        '[[posted]]\nwords = [5, "0xffffffffffffffff", 0xffff_ffff_0000_0040, 0, 0, 1, 0, 0]\n'
    )
    (tmp_path / "headers.toml").write_text("[[header]]\nwords = [0, 5, 0, 0, 0, 0, 0, 0]\narrival = 30\n")
    setup = Setup("mpi", read_list(tmp_path / "list.toml"), read_headers(tmp_path / "headers.toml"))
    answer = setup.run(setup.unit()).answers[0]
    assert (answer["item"], answer["words"], answer["begun"]) == (0, [1], 30)


def test_the_largest_values_pass(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(
        "[[posted]]\nbits = 0xffff_ffff_ffff_ffff\nignore = 0xffff_ffff_ffff_ffff\n"
        "nid = 0xffff_fffe\npid = 0xfffe\n"
        "length = 0xffff_ffff_ffff_ffff\nlocal_offset = 0xffff_ffff_ffff_ffff\nmax_size = 0xffff_ffff\n"
        "threshold = 0xffff_ffff\nevent_queue = 0xffff_ffff\nstart = 0xffff_ffff_ffff_ffff\n"
    )
    (tmp_path / "headers.toml").write_text(
        "[[header]]\nbits = 0xffff_ffff_ffff_ffff\nnid = 0xffff_fffe\npid = 0xfffe\n"
        "length = 0xffff_ffff_ffff_ffff\n"
        "remote_offset = 0xffff_ffff_ffff_ffff\ndata = 0xffff_ffff_ffff_ffff\narrival = 1_000_000_000_000\n"
    )
    setup = Setup("mpi", read_list(tmp_path / "list.toml"), read_headers(tmp_path / "headers.toml"))
    report = setup.run(setup.unit())
    assert report.answers[0]["item"] == 0
    assert report.answers[0]["words"] == [0xFFFF_FFFF_0000_0001]


NUMBER = "expected a number from 0 to "
BAD_LISTS = [
    (
        "[[posted]]\nbit = 1",
        "posted[0]: unknown field `bit`; did you mean `bits`? "
        "expected one of: name, bits, ignore, nid, pid, length, "
        "local_offset, max_size, min_free, threshold, event_queue, start, options",
    ),
    (
        "[[posted]]\n[[posted]]\nbits = -1",
        f"posted[1]: field `bits`: found `-1`, {NUMBER}18446744073709551615",
    ),
    ("[[posted]]\nbits = true", f"posted[0]: field `bits`: found `true`, {NUMBER}18446744073709551615"),
    ("[[posted]]\nbits = 1.5", f"posted[0]: field `bits`: found `1.5`, {NUMBER}18446744073709551615"),
    ("[[posted]]\nbits = 'x'", f"posted[0]: field `bits`: found `x`, {NUMBER}18446744073709551615"),
    (
        "[[unexpected]]\nthreshold = 4294967296",
        f"unexpected[0]: field `threshold`: found `4294967296`, {NUMBER}4294967295",
    ),
    ("[[posted]]\nnid = 4294967295", f"posted[0]: field `nid`: found `4294967295`, {NUMBER}4294967294"),
    (
        "[[posted]]\nnid = 'all'",
        'posted[0]: field `nid`: found `all`, expected "any" or a number from 0 to 4294967294',
    ),
    (
        "[[posted]]\noptions = ['putt']",
        "posted[0]: field `options`: unknown option `putt`; did you mean `put`? "
        "expected one of: valid, put, get, "
        "truncate, remote_offset, use_once",
    ),
    ("[[posted]]\noptions = 3", "posted[0]: field `options`: found `3`, expected a list of names"),
    (
        "[[posted]]\nmax_size = 1\nmin_free = 1",
        "posted[0]: fields `max_size` and `min_free`: found both; "
        "expected one, as they share a field of the item",
    ),
    ("[[posted]]\nwords = [1, 2]", "posted[0]: field `words`: found 2 words, expected 4 or 8 or 16 words"),
    (
        "[[posted]]\nwords = [1, 2, 3, 4, 5, 6, 7, 'x']",
        f"posted[0]: field `words`: found `x`, {NUMBER}18446744073709551615",
    ),
    (
        "[[posted]]\nwords = [0, 0, 0, 0, 0, 0, 0, 0]\nbits = 1",
        "posted[0]: unknown field `bits`; expected one of: name, words",
    ),
    ("[[posted]]\nname = ''", "posted[0]: field `name`: found ``, expected a printable text"),
    ("[posted]\nbits = 1", "`posted` is not an array of tables; expected [[posted]] or [[unexpected]]"),
    ("[[items]]\nbits = 1", "found `items`, expected [[posted]] or [[unexpected]]"),
    (
        "[[posted]",
        "not TOML: Expected ']]' at the end of an array declaration (at line 1, column 9); "
        "expected [[posted]] or [[unexpected]]",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_LISTS)
def test_a_wrong_list_is_rejected_at_its_entry(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "list.toml").write_text(text)
    with pytest.raises(mb.MatchbenchError) as caught:
        read_list(tmp_path / "list.toml")
    assert str(caught.value) == f"{tmp_path / 'list.toml'}: {message}"


BAD_HEADERS = [
    ("[[header]]\nop = 'push'", "header[0]: field `op`: found `push`, expected one of: put, get, search"),
    (
        "[[header]]\nnid = 'any'",
        "header[0]: field `nid`: found `any`; expected a number, except in items and the `nid` of a search",
    ),
    (
        "[[header]]\nignore = 1",
        "header[0]: unknown field `ignore`; expected one of: name, op, bits, nid, pid, length, "
        "remote_offset, data, arrival, after_match, expect",
    ),
    (
        "[[header]]\nop = 'search'\nlength = 1",
        "header[0]: unknown field `length`; expected one of: name, op, bits, "
        "ignore, nid, pid, remote_offset, data, arrival, after_match, expect",
    ),
    (
        "[[header]]\narrival = 1_000_000_000_001",
        f"header[0]: field `arrival`: found `1000000000001`, {NUMBER}1000000000000",
    ),
    ("[[headers]]\nbits = 1", "found `headers`, expected [[header]]"),
    (
        "[[header]]\nafter_match = 'drop'",
        "header[0]: field `after_match`: found `drop`, expected one of: keep, remove, append",
    ),
    (
        "[[header]]\nexpect = 3",
        "header[0]: field `expect`: found `3`, expected a name or `no match`",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_HEADERS)
def test_a_wrong_header_is_rejected_at_its_entry(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "headers.toml").write_text(text)
    with pytest.raises(mb.MatchbenchError) as caught:
        read_headers(tmp_path / "headers.toml")
    assert str(caught.value) == f"{tmp_path / 'headers.toml'}: {message}"


def test_names_are_unique_and_both_places_are_told(tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    path.write_text("[[posted]]\nname = 'a'\n\n[[unexpected]] # one more\nname = 'a'\n")
    with pytest.raises(mb.MatchbenchError) as caught:
        read_list(path)
    assert str(caught.value) == (
        f"{path}: unexpected[0]: field `name`: found `a` in line 4, the name of posted[0] in line 1 too; "
        "expected different names"
    )
    (tmp_path / "headers.csv").write_text("name,bits\none,1\ntwo,2\none,3\n")
    with pytest.raises(mb.MatchbenchError, match="line 4: field `name`: found `one`, the name of line 2 too"):
        read_headers(tmp_path / "headers.csv")
    path.write_text("[[posted]]\nname = 'no match'\n")
    with pytest.raises(mb.MatchbenchError, match="which stands for no item; expected another name"):
        read_list(path)


def test_a_cell_of_a_csv_file_can_hold_words(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("list,words\nposted,1 2 3 4 5 6 7 0xff\nunexpected,0 0 0 0 0 0 0 0\n")
    assert [item.content for item in read_list(tmp_path / "list.csv")] == [
        [1, 2, 3, 4, 5, 6, 7, 255],
        [0] * 8,
    ]
    (tmp_path / "headers.csv").write_text("words,list,arrival\n8 7 6 5 4 3 2 1,unexpected,9\n")
    (header,) = read_headers(tmp_path / "headers.csv")
    assert (header.content, header.list_name, header.arrival) == ([8, 7, 6, 5, 4, 3, 2, 1], "unexpected", 9)
    (tmp_path / "list.csv").write_text("words\n1 2 3\n")
    with pytest.raises(
        mb.MatchbenchError, match="line 2: field `words`: found 3 words, expected 4 or 8 or 16 words"
    ):
        read_list(tmp_path / "list.csv")


BAD_CSV = [
    ("bits,nid\n1\n", "line 2: found 1 cells, expected 2 as in the first line"),
    ("bits,bits\n1,2\n", "line 1: found a column name twice; expected different names"),
    (
        "list,bits\nposted,1\nposed,2\n",
        "line 3, field `list`: found `posed`, expected one of: posted, unexpected",
    ),
    (
        "bits,nid\n1,2\n1,x\n",
        'line 3: field `nid`: found `x`, expected "any" or a number from 0 to 4294967294',
    ),
    ('bits\n"1', "line 2: not CSV: unexpected end of data"),
]


@pytest.mark.parametrize(("text", "message"), BAD_CSV)
def test_a_wrong_table_is_rejected_at_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(mb.MatchbenchError) as caught:
        read_list(tmp_path / "list.csv")
    assert str(caught.value) == f"{tmp_path / 'list.csv'}: {message}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("portal", "--headers", HEADERS),
            "unknown program `portal`; did you mean `portals4`? "
            f"expected one of: {', '.join(PROGRAMS)}, or a file",
        ),
        (
            ("none.mb", "--headers", HEADERS),
            "none.mb: found no such file, expected a match program; check the path",
        ),
        (
            ("mpi", "--headers", "none.toml"),
            "none.toml: found no such file, expected lists or headers; check the path",
        ),
        (
            ("mpi", "--headers", "notes.txt"),
            "notes.txt: found the suffix `.txt`; expected a .toml or .csv file",
        ),
        (
            ("mpi", "--headers", "bytes.toml"),
            "bytes.toml: byte 0 is not UTF-8; expected lists or headers in UTF-8; convert it",
        ),
        (
            ("mpi", "--headers", HEADERS, "--set", "program=mpi"),
            "parameter `program`: found a value, which has no effect here; give PROGRAM instead",
        ),
        (
            ("mpi", "--headers", HEADERS, "--set", "fifo=1"),
            "engine `match_unit`: parameter `fifo`: found `1`, "
            "expected a whole number from 2 to 4096 (count)",
        ),
        (
            ("mpi", "--headers", HEADERS, "--preset", "tanabe2013"),
            "engine `match_unit`: unknown preset `tanabe2013`; expected one of: hemmert2007, mpi, fpga, asic",
        ),
        (("mpi",), "missing option `--headers` (see `matchbench match_unit run --help`)"),
        (
            ("mpi", "--headers", HEADERS, "-o", "x.txt"),
            "x.txt: found the suffix `.txt`; expected a .csv or .json file",
        ),
    ],
)
def test_wrong_words_are_rejected(
    matchbench: Command, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    done = matchbench("match_unit", "run", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"matchbench: {message}\n")


def test_a_program_that_breaks_the_protocol_fails_at_its_line(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "stuck.mb").write_text(
        "; takes words for ever, answers nothing\nloop: wait || _ = in || goto loop\nnop\nnop\n"
    )
    done = matchbench("match_unit", "run", "stuck.mb", *INPUTS)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "matchbench: stuck.mb:2: word 0: waits for item 2, which is sent only after an answer for item 0; "
        "at most two items may be unanswered\n"
    )


def test_a_program_with_errors_shows_them_at_their_places(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.mb").write_text("a0 = 1\n")
    done = matchbench("match_unit", "run", "bad.mb", *INPUTS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("bad.mb:1:1: error: ")


def test_an_image_runs_like_its_text(matchbench: Command) -> None:
    text = ROOT / "match_unit" / "ucode" / "portals4.mb"
    assert matchbench("match_unit", "asm", text, "-o", "portals4.img").returncode == 0
    answers = [
        matchbench("match_unit", "run", program, *INPUTS) for program in ("portals4", text, "portals4.img")
    ]
    assert {(done.returncode, done.stderr) for done in answers} == {(0, "")}
    # An image has no names of registers.
    assert len({done.stdout.partition("registers at the end")[0] for done in answers}) == 1


def test_a_profile_adds_up(matchbench: Command) -> None:
    done = matchbench(
        "match_unit", "profile", "portals_hemmert2007", *INPUTS, "--set", "memory_latency=40", "--json"
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    parts = found["profile"]["parts"]
    assert sum(part["issued"] for part in parts) == found["words"]
    assert sum(word["issued"] for word in found["profile"]["words"]) == found["words"]
    for cause, cycles in found["waited"].items():
        assert sum(part["stalls"][cause] for part in parts) == cycles
    assert found["waited"]["memory"] > 0
    assert found["cycles"] == found["words"] + sum(found["waited"].values())
    parameter = next(p for p in found["parameters"] if p["name"] == "memory_latency")
    assert (parameter["value"], parameter["source"]) == ("40", "user")


@pytest.mark.parametrize("program", PROGRAMS)
def test_viewers_see_what_the_listing_shows(matchbench: Command, tmp_path: Path, program: str) -> None:
    slow = ("--set", "memory_latency=60")
    done = matchbench(
        "match_unit", "trace", program, *INPUTS, *slow, "--kanata-file", "run.kanata", "--vcd-file", "run.vcd"
    )
    assert (done.returncode, done.stderr) == (0, "")
    setup = Setup(program, read_list(LIST), read_headers(HEADERS), parameters={"memory_latency": 60})
    rows = [row for piece in setup.advance(setup.unit(), rows=True) for row in piece["rows"]]
    shown = [
        line for line in done.stdout.splitlines() if line[:6].strip().isdecimal() and "  ---- " not in line
    ]
    assert [int(line[:6]) for line in shown] == [row["cycle"] for row in rows]

    diagram = read_kanata((tmp_path / "run.kanata").read_text())
    assert len(diagram.texts) == len(rows)
    for row, text, detail, stages in zip(rows, *diagram, strict=True):
        cycle = row["cycle"]
        assert all(f", {text_of_write(setup, *write)}" in detail for write in row["writes"])
        assert text.endswith(setup.words[row["address"]].text)
        assert text.split(": ")[0].split()[1] == setup.place(row["address"])
        assert [stages[stage] for stage in ("Rd", "Op", "Wr")] == [(cycle + n, cycle + n) for n in range(3)]
        if row["stall"] and row["stall"][1] != "idle":
            assert stages["Wt"] == (cycle - row["stall"][0], cycle - 1)
        else:
            assert "Wt" not in stages

    waves = Waves(tmp_path / "run.vcd")
    period = 2000  # ps at 500 MHz
    assert waves.end >= rows[-1]["cycle"] * period
    for row in rows:
        time = row["cycle"] * period
        assert (waves.at("issue", time), waves.at("pc", time)) == (1, row["address"])
        assert waves.at("in_pop", time) == (row["took"] is not None)
        if row["took"]:
            assert waves.at("in_data", time) == row["took"][0]
        if row["sent"]:
            leaves = time + 2 * period
            port = tuple(waves.at(name, leaves) for name in ("out_valid", "out_data", "out_last"))
            assert port == (1, *row["sent"])
        assert max(change for change in waves.places if change[0] <= time)[1] == setup.place(row["address"])
        for register, value in row["writes"]:
            name = setup.register_name(register)
            if name != register:
                assert waves.at(f"program.{name}", time) == value
            if register.startswith("p"):
                assert waves.at("p", time) >> int(register[1:]) & 1 == value
            else:
                assert waves.at(register, time) == value


def test_a_window_shows_its_cycles_only(matchbench: Command) -> None:
    done = matchbench("match_unit", "trace", "portals_hemmert2007", *INPUTS, "--cycles", "20:22")
    assert done.returncode == 0
    assert [line[:6].strip() for line in done.stdout.splitlines()[1:] if line[:6].strip()] == [
        "20",
        "21",
        "22",
    ]
    done = matchbench("match_unit", "trace", "portals_hemmert2007", *INPUTS, "--cycles", "20")
    assert (done.returncode, done.stderr) == (2, "matchbench: --cycles: found `20`, expected FIRST:LAST\n")
    done = matchbench("match_unit", "trace", "portals_hemmert2007", *INPUTS, "--cycles", "9:3")
    assert (done.returncode, done.stderr) == (
        2,
        "matchbench: --cycles: found `9:3`, expected FIRST to be at most LAST; exchange them\n",
    )


def test_the_listing_leads_to_a_breach_of_the_protocol(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "stuck.mb").write_text("loop: wait || _ = in || goto loop\nnop\nnop\n")
    done = matchbench("match_unit", "trace", "stuck.mb", *INPUTS, "--kanata-file", "stuck.kanata")
    assert done.returncode == 1
    taken = 8 + 2 * 8  # the header and the two entries that are sent before an answer
    assert (done.stdout.count("took "), done.stdout.count("branch taken")) == (taken, taken)
    assert done.stderr.startswith("matchbench: stuck.mb:1: word 0: waits for item 2, ")
    assert len(read_kanata((tmp_path / "stuck.kanata").read_text()).texts) == 3 * taken


def test_the_output_fifo_is_followed_through_the_whole_run() -> None:
    setup = Setup("portals_hemmert2007", read_list(LIST), read_headers(HEADERS), parameters={"reaction": 3})
    unit = setup.unit()
    whole = [row for piece in setup.advance(setup.unit(), rows=True) for row in piece["rows"]]
    pieces = []
    while not (piece := unit.advance(1, True))["idle"]:
        pieces += piece["rows"]
    assert pieces == whole
    sent = [row["cycle"] for row in whole if row["sent"]]
    for row in whole:
        assert row["output"] == sum(cycle + 2 <= row["cycle"] < cycle + 5 for cycle in sent)
