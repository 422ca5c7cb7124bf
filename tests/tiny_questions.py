"""Two-hop questions about made-up films, in HotpotQA's form, and a tiny BERT that knows their words."""

import json
import re
from pathlib import Path
from typing import Any

from tests.tiny_bert import make_weights, write_source

_FILMS = (
    "Alpha",
    "Bravo",
    "Comet",
    "Delta",
    "Ember",
    "Falcon",
    "Grove",
    "Harbor",
    "Indigo",
    "Juniper",
    "Kestrel",
    "Lagoon",
)
_PEOPLE = (
    "Adams",
    "Baker",
    "Clark",
    "Davis",
    "Evans",
    "Foster",
    "Green",
    "Harris",
    "Irving",
    "Jones",
    "Keller",
    "Lewis",
)
_TOWNS = ("Aston", "Bolton", "Crewe", "Dover", "Epsom", "Fleet", "Goole", "Hove", "Ilford", "Jarrow", "Kendal", "Leeds")
_OPENING = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def questions() -> list[dict[str, Any]]:
    """Twelve of them, each with its two passages and two of others."""
    return [_question(number) for number in range(len(_FILMS))]


def _question(number: int) -> dict[str, Any]:
    other = (number + 1) % len(_FILMS)
    film, person = _FILMS[number], _PEOPLE[number]
    return {
        "_id": f"q{number}",
        "type": "bridge",
        "question": f"Where was the director of the film {film} born?",
        "answer": _TOWNS[number],
        "supporting_facts": [[film, 0], [person, 0]],
        "context": [_about_film(other), _about_film(number), _about_person(number), _about_person(other)],
    }


def _about_film(number: int) -> list[Any]:
    film, person = _FILMS[number], _PEOPLE[number]
    return [film, [f"{film} is a silent film directed by {person}.", f" {film} was shown in many towns."]]


def _about_person(number: int) -> list[Any]:
    person, town = _PEOPLE[number], _TOWNS[number]
    return [person, [f"{person} was born in {town}.", f" {person} worked in film."]]


def write_questions(folder: Path) -> Path:
    """Write the file."""
    path = folder / "hotpot.json"
    path.write_text(json.dumps(questions()), encoding="utf-8")
    return path


def write_base(folder: Path) -> Path:
    """Write a random BERT whose tokenizer knows all words of the questions."""
    words = dict.fromkeys(re.findall(r"\w+|[^\w\s]", " ".join(_texts())))
    vocabulary = (*_OPENING, *words)
    return write_source(folder, make_weights(len(vocabulary), spread=2, largest=1), vocabulary)


def _texts() -> list[str]:
    entries = questions()
    sentences = [part for entry in entries for title, parts in entry["context"] for part in (title, *parts)]
    return [*(entry["question"] for entry in entries), *sentences]
