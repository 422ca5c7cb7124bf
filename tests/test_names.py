from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minirag.naming.names import (
    find_names,
    is_bridge_name,
    name_spans,
    normalise_name,
    title_entity,
    words_inside_sentences,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Henry Edwards", "henry edwards"),
        ("  “Henry\n Edwards’s”, ", "henry edwards"),
        ("The Beatles", "beatles"),
        ("The Who", "the who"),
        ("Ｆｕｌｌ　Width", "full width"),
        ("Jean- Paul – Sartre", "jean-paul-sartre"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("《狂人日记》", "狂人日记"),
        ("O’Brien", "o'brien"),
        ("C++", "c++"),
        ("हिन्दी", "हिन्दी"),
        ("…", ""),
    ],
)
def test_names_are_compared_in_one_form(name: str, expected: str) -> None:
    assert normalise_name(name) == expected


@settings(max_examples=300)
@given(st.text())
def test_the_form_for_comparing_is_stable(name: str) -> None:
    assert normalise_name(normalise_name(name)) == normalise_name(name)


def test_a_title_names_its_entity_without_the_parenthesis() -> None:
    assert title_entity("Aylwin (film)") == "Aylwin"
    assert title_entity("Touki  Bouki (1973 film) ") == "Touki Bouki"
    assert title_entity("红楼梦（小说）") == "红楼梦"
    assert title_entity("(untitled)") == "(untitled)"
    assert title_entity("") == ""


@pytest.mark.parametrize(
    "name", ["Henry Edwards", "Rome", "鲁迅", "서울", "IBM", "Apollo 11", "King's College", "Толстой"]
)
def test_telling_names_bridge(name: str) -> None:
    assert is_bridge_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "12",
        "1999",
        "12 June 1929",
        "May",
        "Monday",
        "French",
        "The",
        "XY",
        "魯",
        "John",
        "King",
        "19th century",
        "First",
        "…",
    ],
)
def test_numbers_dates_nationalities_and_common_words_do_not(name: str) -> None:
    assert not is_bridge_name(name)


def test_the_limits_of_bridge_names_can_be_set() -> None:
    assert is_bridge_name("XY", min_length=2)
    assert not is_bridge_name("鲁迅", min_length=4)
    assert not is_bridge_name("One Flew Over", max_words=2)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Aylwin was directed by Henry Edwards in May 1920.", ["Aylwin", "Henry Edwards"]),
        (
            "In 1999 he read the Lord of the Rings by J. R. R. Tolkien.",
            ["Lord of the Rings", "Rings", "J. R. R. Tolkien"],
        ),
        ("Yesterday Ludwig van Beethoven met Juan de la Cruz.", ["Yesterday Ludwig van Beethoven", "Juan de la Cruz"]),
        ("He was the son of King Heonjong of Joseon.", ["King Heonjong of Joseon", "Heonjong of Joseon", "Joseon"]),
        ("They flew on Apollo 11 to Saint-Denis with O'Brien.", ["Apollo 11", "Saint-Denis", "O'Brien"]),
        (
            'Her "Net of Love and War" was read by Rick Ross\'s Maybach Group.',
            [
                "Net of Love",
                "Love",
                "War",
                "Rick Ross's Maybach Group",
                "Rick Ross",
                "Maybach Group",
                "Net of Love and War",
            ],
        ),
        ("Directed by nobody, it was loved.", []),
        ("The iPhone is American.", ["iPhone"]),
        ("Лев Толстой родился в Ясной Поляне.", ["Лев Толстой", "Ясной Поляне"]),
        ("Ο Σωκράτης έζησε στην Αθήνα.", ["Σωκράτης", "Αθήνα"]),
        ("Élodie Müller naquit à Évian.", ["Élodie Müller", "Évian"]),
        ("鲁迅出生于浙江绍兴，《狂人日记》的作者是鲁迅。", ["狂人日记", "鲁迅", "浙江绍兴"]),
        ("夏目漱石はロンドンに留学した。", ["ロンドン", "夏目漱石", "留学"]),
        ("이순신은 서울에서 태어났다.", ["이순신", "서울"]),
        ("ولد نجيب محفوظ في القاهرة.", ["نجيب محفوظ", "القاهرة"]),
        ("महात्मा गांधी का जन्म पोरबंदर में हुआ।", ["महात्मा गांधी", "पोरबंदर"]),
        ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", ["กรุงเทพมหานคร", "เมืองหลวง", "ประเทศไทย"]),
    ],
)
def test_names_are_found_in_any_script(sentence: str, expected: list[str]) -> None:
    assert find_names(sentence) == expected


def test_two_documents_share_a_name_in_scripts_without_capitals() -> None:
    for first, second, name in [
        ("《狂人日记》的作者是鲁迅。", "鲁迅出生于绍兴。", "鲁迅"),
        ("نجيب محفوظ كاتب مصري.", "رواية من تأليف نجيب محفوظ.", "نجيب محفوظ"),
        ("作曲は坂本龍一である。", "坂本龍一は東京に生まれた。", "坂本龍一"),
        ("세종대왕이 만들었다.", "한글은 세종대왕의 업적이다.", "세종대왕"),
    ]:
        assert name in find_names(first), first
        assert name in find_names(second), second


def test_the_first_word_of_a_sentence_is_a_name_when_it_is_one_elsewhere() -> None:
    known = words_inside_sentences(["We saw Bligh there."])
    assert known == {"Bligh"}
    assert find_names("Bligh played cricket.") == []
    assert find_names("Bligh played cricket.", known=known) == ["Bligh"]


@settings(max_examples=300)
@given(st.text())
def test_spans_of_names_lie_in_the_sentence(sentence: str) -> None:
    spans = name_spans(sentence)
    assert all(0 <= start < end <= len(sentence) for start, end in spans)
    assert all(name.strip() for name in find_names(sentence))
