from minirag.training.lessons import ChainedQuestion, cut_chains, gold_texts
from minirag.training.making import split_dev
from minirag.training.silver import SilverStep
from tests.test_silver import FILM, FIRST, MAN, OTHER, QUESTION, SECOND

STEPS = (SilverStep(0, FIRST, "Aylwin director Henry Edwards", ()), SilverStep(2, SECOND, None, (0,)))
CHAINED = ChainedQuestion("q", "set", QUESTION, (FILM, OTHER, MAN), STEPS)


def test_bare_questions_find_all_and_chains_what_is_left() -> None:
    lessons = [(lesson.kind, lesson.query, lesson.target) for lesson in cut_chains([CHAINED])]
    bare = [
        ("passage", QUESTION, FILM.text),
        ("fact", QUESTION, FIRST),
        ("triple", QUESTION, "Aylwin director Henry Edwards"),
        ("passage", QUESTION, MAN.text),
        ("fact", QUESTION, SECOND),
    ]
    assert lessons[:5] == bare
    assert [(kind, target) for kind, _, target in lessons[5:]] == [("passage", MAN.text), ("fact", SECOND)]
    assert all(query in {f"{QUESTION} {fact}" for fact in FILM.facts} for _, query, _ in lessons[5:])


def test_what_supports_the_answer_is_gold_for_every_lesson() -> None:
    gold = {FILM.text, MAN.text, FIRST, SECOND, "Aylwin director Henry Edwards"}
    assert gold_texts(CHAINED) == gold
    assert {lesson.gold for lesson in cut_chains([CHAINED])} == {frozenset(gold)}


def test_without_chain_queries_only_bare_questions_are_left() -> None:
    lessons = cut_chains([CHAINED], chain_queries=False)
    assert {lesson.query for lesson in lessons} == {QUESTION}
    assert not any(lesson.chained for lesson in lessons)


def test_a_chain_of_triples_holds_triples() -> None:
    steps = (SilverStep(None, None, "a b c", ()), SilverStep(None, None, "c d e", (0,)))
    lessons = cut_chains([ChainedQuestion("q", "set", "Where?", (), steps)])
    assert [(lesson.query, lesson.target) for lesson in lessons] == [
        ("Where?", "a b c"),
        ("Where?", "c d e"),
        ("Where? a b c", "c d e"),
    ]


def test_both_orders_of_a_comparison_are_learnt_and_nothing_twice() -> None:
    steps = (SilverStep(None, None, "a b c", ()), SilverStep(None, None, "d e f", ()))
    lessons = cut_chains([ChainedQuestion("q", "set", "Which?", (), steps)])
    assert [(lesson.query, lesson.target) for lesson in lessons] == [
        ("Which?", "a b c"),
        ("Which?", "d e f"),
        ("Which? a b c", "d e f"),
        ("Which? d e f", "a b c"),
    ]


def test_the_seed_decides_what_chains_hold() -> None:
    assert cut_chains([CHAINED], seed=3) == cut_chains([CHAINED], seed=3)
    assert {cut_chains([CHAINED], seed=seed) for seed in range(20)} != {cut_chains([CHAINED])}


def test_the_question_of_one_hop_finds_that_hop_alone() -> None:
    steps = (
        SilverStep(0, FIRST, None, (), "Who directed Aylwin?"),
        SilverStep(2, SECOND, None, (0,), "Where was Henry Edwards born?"),
    )
    lessons = cut_chains([ChainedQuestion("q", "set", QUESTION, (FILM, OTHER, MAN), steps)])
    assert [
        (lesson.query, lesson.target, lesson.chained) for lesson in lessons if not lesson.query.startswith(QUESTION)
    ] == [
        ("Who directed Aylwin?", FILM.text, False),
        ("Who directed Aylwin?", FIRST, False),
        ("Where was Henry Edwards born?", MAN.text, False),
        ("Where was Henry Edwards born?", SECOND, False),
    ]


STAND_IN = "Aylwin (film). Aylwin director Henry Edwards."


def test_a_title_with_what_is_said_of_a_hop_stands_for_its_passage_to_bare_questions() -> None:
    steps = (
        SilverStep(None, None, "Aylwin director Henry Edwards", asks="Aylwin director", stand_in=STAND_IN),
        SilverStep(None, None, "c d e", (0,)),
    )
    asked = ChainedQuestion("q", "set", QUESTION, (), steps)
    lessons = [lesson for lesson in cut_chains([asked]) if lesson.kind == "passage"]
    assert [(each.query, each.target, each.stands_in, each.source) for each in lessons] == [
        (QUESTION, STAND_IN, True, "set")
    ]
    assert STAND_IN in gold_texts(asked)
    assert not any(lesson.stands_in for lesson in cut_chains([asked], stand_ins=False))


def test_a_question_that_is_there_twice_is_on_one_side() -> None:
    asked = [ChainedQuestion(f"{n}", "set", f"{n}: where was it?", (), ()) for n in range(200)]
    twice = [ChainedQuestion(f"{q.id} borrowed", "other", q.text, (), ()) for q in asked]
    train, dev = split_dev([*asked, *twice], 0.2)
    assert {q.text for q in train}.isdisjoint(q.text for q in dev)
    assert len(dev) == 2 * 39
