"""What a simple but honest model would answer to the peers' prompts: rules over the request, nothing random.

Each peer asks in a form of its own, which is known by words of its prompts. Entities are the capitalised names of a
text, and a sentence relates the first name in it, or the title, to the others. A good LLM finds more, so calls and
prompt tokens are near to those with one, while replies and recall are rather a lower bound.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from minirag.evaluation.honest import names_in
from minirag.evaluation.loopback import Request, Served, honest
from minirag.evaluation.peers.results import Cost

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]?")
_SENT = ("messages", "response_format", "tools")


class Scripted:
    """A script for `Loopback` that also counts what was asked. Safe to use from several threads.

    Attributes:
        cost: Of all calls so far.
    """

    def __init__(self) -> None:
        """Begin at nothing."""
        self.cost = Cost()
        self._lock = Lock()

    def __call__(self, request: Request) -> Served:
        """Answer one request; four characters count as one token, of the reply's form too where it is asked for."""
        served = reply_to(request)
        sent = json.dumps({key: request.body[key] for key in _SENT if key in request.body}, ensure_ascii=False)
        prompt, completion = len(sent) // 4, len(served.text or "") // 4
        with self._lock:
            cost = self.cost
            self.cost = Cost(cost.calls + 1, cost.prompt_tokens + prompt, cost.completion_tokens + completion)
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        return replace(served, usage=usage)


def reply_to(request: Request) -> Served:
    """The reply to a prompt of minirag or of a peer; status 400 for one that is unknown, which the peer then tells."""
    if request.prompt.startswith('{"task"'):
        return honest(request)
    messages = request.body["messages"]
    asked = str(messages[-1]["content"])
    said = "\n".join(str(message["content"]) for message in messages)
    for words, reply in _REPLIES:
        if re.search(words, asked):
            return Served(text=reply(asked, said))
    return Served(code=400, error={"message": f"no rule answers the prompt that ends with {asked[-200:]!r}"})


@dataclass(frozen=True, slots=True)
class _Found:
    """What a text says: descriptions by name, and (name, other name, sentence)."""

    entities: Mapping[str, str]
    relations: Sequence[tuple[str, str, str]]


def _find(text: str) -> _Found:
    title, _, rest = text.strip().partition("\n")
    entities: dict[str, str] = {}
    relations = []
    for sentence in (found.strip() for found in _SENTENCE.findall(rest or title)):
        names = list(dict.fromkeys([title, *names_in(sentence)] if rest else names_in(sentence)))
        for name in names:
            entities.setdefault(name, sentence)
        relations += [(names[0], other, sentence) for other in names[1:]]
    return _Found(entities, relations)


def _between(text: str, begin: str, end: str) -> str:
    """What stands after the last `begin` and before the next `end`."""
    return text.rpartition(begin)[2].partition(end)[0].strip()


def _none_missed(_: str, said: str) -> str:
    """Extraction once more: nothing was missed."""
    if "STRICTLY VALID JSON" in said:
        return json.dumps({"entities": [], "relationships": [], "other_relationships": []})
    return "<|COMPLETE|>"


def _rows(asked: str, _: str) -> str:
    """LightRAG's extraction."""
    found = _find(_between(asked, "---Input Text---\n```", "\n```"))
    rows = [f"entity<|#|>{name}<|#|>Other<|#|>{told}" for name, told in found.entities.items()]
    rows += [f"relation<|#|>{head}<|#|>{tail}<|#|>mentions<|#|>{told}" for head, tail, told in found.relations]
    return "\n".join([*rows, "<|COMPLETE|>"])


def _tuples(asked: str, _: str) -> str:
    """nano-graphrag's extraction, which is GraphRAG's."""
    found = _find(_between(asked, "\nText: ", "\n######################"))
    rows = [f'("entity"<|>"{name}"<|>"person"<|>"{told}")' for name, told in found.entities.items()]
    rows += [f'("relationship"<|>"{head}"<|>"{tail}"<|>"{told}"<|>5)' for head, tail, told in found.relations]
    return "##\n".join(rows) + "<|COMPLETE|>"


def _graph(asked: str, _: str) -> str:
    """fast-graphrag's extraction."""
    found = _find(_between(asked, "**Document**:", "<<DOCUMENT_END>>"))
    entities = [{"name": name, "type": "person", "desc": told} for name, told in found.entities.items()]
    relations = [{"source": head, "target": tail, "desc": told} for head, tail, told in found.relations]
    return json.dumps({"entities": entities, "relationships": relations, "other_relationships": []}, ensure_ascii=False)


def _keywords(asked: str, _: str) -> str:
    """LightRAG's words of a question."""
    question = _between(asked, "User Query:", "\n---Output---")
    names = names_in(question) or [question]
    return json.dumps({"high_level_keywords": [question], "low_level_keywords": names}, ensure_ascii=False)


def _names_of_query(asked: str, _: str) -> str:
    """fast-graphrag's names in a question."""
    question = _between(asked, "Query:", "\nOutput:")
    return json.dumps({"named": names_in(question), "generic": [question]}, ensure_ascii=False)


def _description(asked: str, _: str) -> str:
    """fast-graphrag's shortened description: its first half."""
    told = _between(asked, "Current:", "\nUpdated:")
    return json.dumps({"description": told[: len(told) // 2 + 1]}, ensure_ascii=False)


def _summary(asked: str, _: str) -> str:
    """A summary of several descriptions: the first of them."""
    return asked.rpartition("Description List:")[2].strip(" `\n").partition("\n")[0]


def _report(asked: str, _: str) -> str:
    """nano-graphrag's report of a community."""
    names = re.findall(r'^\d+,\t"+([^"]+)', asked.rpartition("-----Entities-----")[2], flags=re.MULTILINE)[:5]
    finding = {"summary": "They are named together.", "explanation": ", ".join(names)}
    told = {"title": ", ".join(names[:2]), "summary": ", ".join(names), "rating": 5.0}
    return json.dumps(told | {"rating_explanation": "None.", "findings": [finding]}, ensure_ascii=False)


def _no_groups(_: str, __: str) -> str:
    return json.dumps({"grouped_facts": []})


def _done(_: str, __: str) -> str:
    return json.dumps({"status": "done"})


# Words of the last message, and who answers it.
_REPLIES: tuple[tuple[str, Callable[[str, str], str]], ...] = (
    (r"entities were missed in the last extraction|^---Task---\nBased on the last extraction task", _none_missed),
    (r"^---Task---\nExtract entities and relationships", _rows),
    (r"<<DOCUMENT_START>>", _graph),
    (r"\n-Real Data-\n#+\nEntity_types:", _tuples),
    (r'"high_level_keywords"', _keywords),
    (r"extract all entities relevant to perform information retrieval", _names_of_query),
    (r"Write a comprehensive report of a community", _report),
    (r"\nDescription List:", _summary),
    (r"\nCurrent:\n", _description),
    (r"grouped_facts", _no_groups),
    (r"answer done if so", _done),
)
