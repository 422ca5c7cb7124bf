from __future__ import annotations

import pytest

from minirag.evaluation.variants import Variant, describe_variant, sweep, takes


def test_names() -> None:
    assert Variant("naive").name == "naive"
    options = {"steps": 2, "bridges": False, "without": ("lexical", "facts")}
    assert Variant("kirag", options, 5).name == "kirag (k=5, steps=2, bridges=no, without=lexical+facts)"
    assert describe_variant("kirag", {"without": ["lexical"]}) == "kirag (without=lexical)"


def test_a_sweep_varies_what_has_the_option() -> None:
    found = sweep([Variant("naive"), Variant("indexrag", k=4)], "k_b", [None, 0, 3])
    assert found == [
        Variant("naive"),
        Variant("indexrag", k=4),
        Variant("indexrag", {"k_b": 0}, 4),
        Variant("indexrag", {"k_b": 3}, 4),
    ]


def test_two_sweeps_are_a_grid() -> None:
    found = sweep(sweep([Variant("kirag")], "pool", [5, 10]), "k", [1, 2])
    assert [(each.options, each.k) for each in found] == [
        ({"pool": 5}, 1),
        ({"pool": 5}, 2),
        ({"pool": 10}, 1),
        ({"pool": 10}, 2),
    ]


def test_what_cannot_be_swept() -> None:
    with pytest.raises(ValueError, match="pool is no option of the strategy naive or indexrag"):
        sweep([Variant("naive"), Variant("indexrag")], "pool", [1])
    with pytest.raises(ValueError, match="a sweep over k_b needs values"):
        sweep([Variant("indexrag")], "k_b", [])


def test_takes() -> None:
    assert takes("kirag", "pool")
    assert not takes("naive", "pool")
