"""The corpus of a data set whose passages stand beside its questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xxhash import xxh3_64_hexdigest

from minirag.datasets import ContextPassage, Example
from minirag.records import Document


class Corpus:
    """Documents, found by their content or title.

    Attributes:
        documents: In the order of the files that they came from.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        """Keep the documents, and where each content and title stands."""
        self.documents = tuple(documents)
        self._by_content: dict[tuple[str, str], str] = {}
        self._by_title: dict[str, str] = {}
        for document in self.documents:
            self._by_content.setdefault(_content(document.title, document.text), document.id)
            self._by_title.setdefault(document.title, document.id)

    @classmethod
    def of(cls, examples: Iterable[Example]) -> Corpus:
        """All passages of all examples, each content once; passages that share nothing but a title stay apart.

        A document is named after its content, so that the same passage has the same id in every data set.
        """
        found: dict[tuple[str, str], Document] = {}
        for passage in (passage for example in examples for passage in example.passages):
            content = _content(passage.title, passage.text)
            if content not in found:
                found[content] = Document(xxh3_64_hexdigest("\n".join(content).encode()), passage.text, passage.title)
        return cls(tuple(found.values()))

    def gold_of(self, example: Example) -> tuple[str, ...]:
        """The ids of the documents that it takes to answer a question.

        Those with the content of its supporting passages; where it names a title that none of these has, the first
        document of that title, or where the corpus has none either, the title itself. Empty where any one of the
        supporting passages is enough.
        """
        if example.is_any_sufficient:
            return ()
        supporting = [passage for passage in example.passages if passage.is_supporting]
        held = {passage.title for passage in supporting}
        ids = [self._id_of(passage) for passage in supporting]
        ids += [self._by_title.get(title, title) for title in example.gold_titles if title not in held]
        return tuple(dict.fromkeys(ids))

    def _id_of(self, passage: ContextPassage) -> str:
        by_title = self._by_title.get(passage.title, passage.title)
        return self._by_content.get(_content(passage.title, passage.text), by_title)


def _content(title: str, text: str) -> tuple[str, str]:
    """What makes two passages the same: their words, not the space between them."""
    return " ".join(title.split()), " ".join(text.split())
