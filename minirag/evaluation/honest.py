"""What an honest but simple model would answer to minirag's prompts: rules over the request, nothing random."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any

_SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]?")
_NAME = re.compile(r"[A-ZÀ-ÖØ-Þ][\w'’-]*(?:\s+(?:of|the|de|van|von)?\s*[A-ZÀ-ÖØ-Þ][\w'’-]*)*")
_NO_NAMES = frozenset({"The", "A", "An", "It", "He", "She", "They", "In", "On", "At", "This", "His", "Her", "Its"})


def honest_reply(prompt: str) -> dict[str, Any]:
    """The reply to a prompt of minirag, whose first line is a JSON object with the task and its data; {} to others."""
    line = prompt.split("\n", 1)[0]
    if not line.startswith("{"):
        return {}
    data = json.loads(line)
    return _ANSWERS[data["task"]](data)


def honest_vector(text: str, dimensions: int = 64) -> list[float]:
    """A bag of hashed words, of length 1."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.casefold()):
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    length = sum(x * x for x in vector) ** 0.5 or 1.0
    return [x / length for x in vector]


def names_in(text: str) -> list[str]:
    """Capitalised words and runs of them, each once, in order."""
    found = (re.sub(r"^(?:The|A|An)\s+", "", name) for name in _NAME.findall(text))
    return list(dict.fromkeys(name for name in found if name not in _NO_NAMES))


def _extract(data: Mapping[str, Any]) -> dict[str, Any]:
    title = data["title"]
    sentences = [s.strip() for s in _SENTENCE.findall(data["passage"]) if s.strip(" .!?。！？\n")]
    facts, triples = [], []
    for sentence in sentences:
        text = sentence if not title or title in sentence else f"{title}: {sentence}"
        entities = names_in(text) or ([title] if title else [])
        facts.append({"text": text, "entities": entities})
        if entities and len(sentence.split()) > 3:
            words = [word for word in sentence.split() if word not in entities[0].split()]
            triples.append({"head": entities[0], "relation": words[0], "tail": " ".join(words[1:]) or words[0]})
    return {"nothing_to_extract": not facts, "facts": facts, "triples": triples}


def _bridge(data: Mapping[str, Any]) -> dict[str, Any]:
    replies = []
    for entity in data["entities"]:
        first = entity["facts"][0]
        other = next((fact for fact in entity["facts"] if fact["document"] != first["document"]), None)
        joined = [{"text": f"{first['text']} {other['text']}", "sources": [first["n"], other["n"]]}] if other else []
        replies.append({"entity": entity["n"], "facts": joined})
    return {"entities": replies}


def _read(data: Mapping[str, Any]) -> dict[str, Any]:
    if not data["context"]:
        return {"found": False, "answer": "The context is empty.", "items": []}
    return {"found": True, "answer": data["context"][0]["text"], "items": [1]}


def _extend(data: Mapping[str, Any]) -> dict[str, Any]:
    if len(data["chain"]) >= 2:
        return {"known": True, "answer": data["chain"][-1], "next": []}
    return {"known": False, "answer": "", "next": [candidate["n"] for candidate in data["candidates"]]}


def _think(data: Mapping[str, Any]) -> dict[str, Any]:
    quoted = data["context"][0]["text"] if data["context"] else "Nothing is known."
    return {"thought": f"So the answer is: {quoted}" if data["thoughts"] else quoted}


_ANSWERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "extract": _extract,
    "bridge": _bridge,
    "read": _read,
    "extend": _extend,
    "think": _think,
}
