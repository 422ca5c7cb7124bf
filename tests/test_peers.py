"""The peers' comparison, without any peer: parts of data sets, scripted replies, reasons, records and tables."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from minirag import Document
from minirag.errors import InputError, MiniragError
from minirag.evaluation.datasets import Dataset, Question
from minirag.evaluation.loopback import Request
from minirag.evaluation.peers.catalog import PEERS, find_peers
from minirag.evaluation.peers.corpus import take_part
from minirag.evaluation.peers.environments import count_bytes, reason_in
from minirag.evaluation.peers.readme import BEGIN, END, KEPT, main, render, replace_section
from minirag.evaluation.peers.results import Comparison, Cost, Indexing, PeerResult, Retrieving
from minirag.evaluation.peers.scripted import Scripted, reply_to

DATASET = Dataset(
    "letters",
    tuple(Document(f"d{number}", f"Text {number}.") for number in range(10)),
    tuple(Question(f"q{number}", f"{number}?", ("yes",), (f"d{number}", f"d{number + 5}")) for number in range(5)),
)
LIGHTRAG = "---Task---\nExtract entities and relationships from it.\n\n---Input Text---\n```\n{}\n```\n\n---Output---\n"


def asked(prompt: str, *before: str) -> Request:
    roles = ["user", "assistant"] * len(before)
    said = [{"role": role, "content": text} for role, text in zip(roles, before, strict=False)]
    return Request(
        "/chat/completions", {"model": "scripted", "messages": [*said, {"role": "user", "content": prompt}]}, {}
    )


def test_a_part_holds_the_gold_passages_of_its_questions() -> None:
    part = take_part(DATASET, passages=8, limit=2)
    assert len(part.documents) == 8
    assert len(part.questions) == 2
    assert {gold for question in part.questions for gold in question.gold_ids} <= {each.id for each in part.documents}
    assert part.documents == tuple(document for document in DATASET.documents if document in part.documents)
    assert part == take_part(DATASET, passages=8, limit=2)
    assert part != take_part(DATASET, passages=8, limit=2, seed=1)


def test_at_least_half_of_a_part_are_other_passages() -> None:
    assert len(take_part(DATASET, passages=10, limit=5).questions) == 2
    assert len(take_part(DATASET, passages=4, limit=5).questions) == 1


def test_what_cannot_be_a_part() -> None:
    with pytest.raises(InputError, match=r"letters: no question with gold passages fits into 3 passages"):
        take_part(DATASET, passages=3, limit=5)
    with pytest.raises(InputError, match="Give more passages, or a data set with a corpus and gold passages"):
        take_part(replace(DATASET, documents=()), passages=10, limit=5)
    with pytest.raises(ValueError, match="must be at least 1, not 0 and 5"):
        take_part(DATASET, passages=0, limit=5)


def test_peers_are_found_by_name() -> None:
    assert [peer.name for peer in find_peers(["minirag", "bm25s"])] == ["bm25s", "minirag"]
    assert find_peers([]) == PEERS
    with pytest.raises(InputError, match="there is no peer 'faiss', only 'bm25s', 'chromadb', "):
        find_peers(["faiss"])


def test_every_peer_has_its_runner() -> None:
    runners = Path(__file__).parents[1] / "minirag" / "evaluation" / "peers" / "runners"
    assert {peer.runner for peer in PEERS} == {file.stem for file in runners.glob("*.py")} - {"__init__"}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("  error: subprocess failed\n  more\nERROR: Failed to build hnswlib\n", "error: subprocess failed"),
        ("WARNING: slow\nERROR: No matching distribution found for x\n", "ERROR: No matching distribution found for x"),
        ("a\nTimed out\n\n", "Timed out"),
        ("", "it said nothing"),
    ],
)
def test_why_pip_failed(said: str, reason: str) -> None:
    assert reason_in(said) == reason


def test_bytes_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_bytes(b"12345")
    (tmp_path / "b").write_bytes(b"123")
    assert count_bytes(tmp_path) == 8


def test_lightrag_gets_rows() -> None:
    text = reply_to(asked(LIGHTRAG.format("Aylwin\nIt was directed by Henry Edwards in London."))).text
    assert text is not None
    assert text.splitlines() == [
        "entity<|#|>Aylwin<|#|>Other<|#|>It was directed by Henry Edwards in London.",
        "entity<|#|>Henry Edwards<|#|>Other<|#|>It was directed by Henry Edwards in London.",
        "entity<|#|>London<|#|>Other<|#|>It was directed by Henry Edwards in London.",
        "relation<|#|>Aylwin<|#|>Henry Edwards<|#|>mentions<|#|>It was directed by Henry Edwards in London.",
        "relation<|#|>Aylwin<|#|>London<|#|>mentions<|#|>It was directed by Henry Edwards in London.",
        "<|COMPLETE|>",
    ]


def test_graphrag_gets_tuples_and_more_of_them_is_nothing() -> None:
    prompt = (
        "-Real Data-\n######\nEntity_types: x\nText: Aylwin\nHenry Edwards made it.\n######################\nOutput:\n"
    )
    text = reply_to(asked("…\n" + prompt)).text
    assert text == (
        '("entity"<|>"Aylwin"<|>"person"<|>"Henry Edwards made it.")##\n'
        '("entity"<|>"Henry Edwards"<|>"person"<|>"Henry Edwards made it.")##\n'
        '("relationship"<|>"Aylwin"<|>"Henry Edwards"<|>"Henry Edwards made it."<|>5)<|COMPLETE|>'
    )
    more = "MANY entities were missed in the last extraction.  Add them below using the same format:"
    assert reply_to(asked(more, "…\n" + prompt, text)).text == "<|COMPLETE|>"
    nothing: dict[str, list[str]] = {"entities": [], "relationships": [], "other_relationships": []}
    assert reply_to(asked(more, "STRICTLY VALID JSON", "{}")).text == json.dumps(nothing)


def test_fast_graphrag_gets_a_graph() -> None:
    text = reply_to(asked("<<DOCUMENT_START>>\n**Document**:\nAylwin\nHenry Edwards made it.\n<<DOCUMENT_END>>\n")).text
    assert json.loads(text or "") == {
        "entities": [
            {"name": "Aylwin", "type": "person", "desc": "Henry Edwards made it."},
            {"name": "Henry Edwards", "type": "person", "desc": "Henry Edwards made it."},
        ],
        "relationships": [{"source": "Aylwin", "target": "Henry Edwards", "desc": "Henry Edwards made it."}],
        "other_relationships": [],
    }


def test_questions_are_taken_apart() -> None:
    words = reply_to(asked('"high_level_keywords" …\nUser Query: Who made Aylwin?\n\n---Output---\nOutput:')).text
    assert json.loads(words or "") == {
        "high_level_keywords": ["Who made Aylwin?"],
        "low_level_keywords": ["Who", "Aylwin"],
    }
    prompt = "extract all entities relevant to perform information retrieval\nQuery: Who made Aylwin?\nOutput:\n"
    names = reply_to(asked(prompt)).text
    assert json.loads(names or "") == {"named": ["Who", "Aylwin"], "generic": ["Who made Aylwin?"]}


def test_unknown_prompts_are_refused() -> None:
    served = reply_to(asked("Sing!"))
    assert (served.code, served.error) == (400, {"message": "no rule answers the prompt that ends with 'Sing!'"})


def test_what_is_asked_is_counted() -> None:
    script = Scripted()
    request = asked("answer done if so")
    assert script(request).usage == {"prompt_tokens": 16, "completion_tokens": 4, "total_tokens": 20}
    script(request)
    assert script.cost == Cost(2, 32, 8)
    assert script.cost - Cost(1, 16, 4) == Cost(1, 16, 4)


COMPARISON = Comparison(
    "letters",
    "an encoder",
    {"cores": 2},
    (
        PeerResult("bm25s", 500, 2, reason="pip cannot install bm25s: no network"),
        PeerResult(
            "graph",
            500,
            2,
            version="1.0",
            install_bytes=300_000_000,
            indexing=Indexing(12.5, 3.0, Cost(1000, 2_000_000, 500_000), 4_000_000),
            retrieving=(
                Retrieving("local", 0.0125, 1.0, {"2": 0.5, "5": 0.75, "10": 1.0}),
                Retrieving("mix", 0.025, 2.0, {"2": 0.0, "5": 0.0, "10": 0.5}),
            ),
            peak_bytes=200_000_000,
            cost=Cost(1010, 2_010_000, 500_100),
        ),
        PeerResult(
            "torn", 500, 2, version="2", install_bytes=1_000_000, reason="ended with status 1: no", cost=Cost(5)
        ),
    ),
)


def test_the_table_tells_what_was_measured_and_what_was_not() -> None:
    table = COMPARISON.table()
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    none = "–"
    assert table.startswith("500 passages, 2 questions:\n\n|")
    assert lines[2:] == [
        ["bm25s", none, none, "0", "0", "0", none, none, none, none, none, none, none, none],
        [
            *("graph 1.0: local", "12.5", "3.0", "2,000", "4,000,000", "1,000,000", "4.0", "200", "300.0"),
            *("12.5", "1.0", "50.0", "75.0", "100.0"),
        ],
        ["graph 1.0: mix", *[""] * 8, "25.0", "2.0", "0.0", "0.0", "50.0"],
        ["torn 2", none, none, "10", "0", "0", none, none, "1.0", none, none, none, none, none],
    ]
    assert table.endswith(
        "What could not be run, and why:\n\n- bm25s: pip cannot install bm25s: no network\n"
        "- torn 2: ended with status 1: no"
    )


def test_figures_are_read_again(tmp_path: Path) -> None:
    COMPARISON.write(tmp_path / "peers.json")
    assert Comparison.read(tmp_path / "peers.json") == COMPARISON


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.json").write_text('{"runs": []}')
    with pytest.raises(MiniragError, match=r"runs\.json: is no file of `python -m minirag\.evaluation\.peers --json`"):
        Comparison.read(tmp_path / "runs.json")


def test_the_readme_holds_what_was_measured() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert replace_section(readme, render(Comparison.read(KEPT))) == readme


def test_a_readme_needs_its_marks() -> None:
    assert replace_section(f"a\n{BEGIN}\nold\n{END}\nb\n", "new") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb\n"
    with pytest.raises(InputError, match="the README needs the lines '<!-- peers: begin"):
        replace_section("a", "new")


def test_what_the_table_needs_is_asked_for_before_anything_is_written(tmp_path: Path) -> None:
    page, kept, new = tmp_path / "README.md", tmp_path / "measured.json", tmp_path / "peers.json"
    page.write_text(f"{BEGIN}\nold\n{END}\n", encoding="utf-8")
    machine: dict[str, str | int | None] = {"cores": 2, "processor": "a CPU"}
    replace(COMPARISON, machine=machine, results=COMPARISON.results[:1]).write(new)
    command = [str(page), str(new), "--summary", str(kept)]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, kept.exists(), "old" in page.read_text(encoding="utf-8")) == (1, False, True)
    assert done.stderr.startswith(f"Error: {new}: lacks what the section needs: chromadb, lancedb, sqlite-vec, ")
    done = CliRunner().invoke(main, [*command, "--partial"])
    assert (done.exit_code, done.output) == (0, "")
    assert Comparison.read(kept).results == COMPARISON.results[:1]
    assert "- bm25s: pip cannot install bm25s: no network" in page.read_text(encoding="utf-8")
    new.write_text('{"peers": {"results": [3]}}', encoding="utf-8")
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.stderr.startswith(f"Error: {new}: is no file of `python -m")) == (1, True)
