"""What all of minirag's errors have in common."""

from __future__ import annotations

import pickle

import pytest

from minirag.errors import (
    EncoderMismatchError,
    IndexCorruptError,
    IndexLockedError,
    IndexVersionError,
    IndexWriteError,
    InputError,
    LLMReplyError,
    MiniragError,
    NotAnIndexError,
    OutputError,
    TextsRefusedError,
    TimeLimitError,
    UnknownIdError,
)


@pytest.mark.parametrize(
    "error",
    [
        InputError("text is blank"),
        IndexCorruptError("a.usearch", "trailer", "too short"),
        NotAnIndexError("a.usearch", ", but a PDF"),
        UnknownIdError("document", "nope", near=["rope"]),
        IndexVersionError("a.usearch", found=9, supported=1),
        IndexLockedError("a.usearch", 42),
        IndexWriteError("a.usearch", "the disk is full", needed=5),
        OutputError("page.html", "the disk is full"),
        EncoderMismatchError("a.usearch", built_with="one", given="another"),
        TextsRefusedError({"a text": "openai/any: refused to answer", "another": "too long"}),
        LLMReplyError("openai/any", "no JSON"),
        TimeLimitError(30),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_pass_between_processes_whole(error: MiniragError) -> None:
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is type(error)
    assert str(restored) == str(error)
    assert vars(restored) == vars(error)
