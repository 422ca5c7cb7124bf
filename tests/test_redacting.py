"""No key of the environment, and no line break, in what is told, logged or stored."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.errors import LLMError, LLMReplyError, LLMSetupError
from minirag.reasoner.offline import OfflineReasoner
from minirag.records import Extraction, Passage
from minirag.redacting import redact
from tests.loopback import Loopback, status

KEY = "Zx81-Spectrum-48k"
DOCUMENTS = [Document("aylwin", "Aylwin was directed by Henry Edwards.", "Aylwin")]
CERTIFICATE = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nq81w3Zx81Spectrum48kabcdef\n-----END"


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "SNOWFLAKE_JWT", "GIGACHAT_CREDENTIALS"),
        *("PGPASSWORD", "WATSONX_ZENAPIKEY", "CLARIFAI_PAT", "HCP_VAULT_APPROLE_SECRET_ID", "CIRCLE_OIDC_TOKEN_V2"),
        *("MY_API_KEYS", "SMTP_PASS", "KEY_PASSPHRASE", "hf_token", "LITELLM_LICENSE"),
    ],
)
def test_a_variable_is_a_secret_by_any_part_of_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, f" {KEY}\n")
    assert redact(f"the key {KEY}, says {KEY}.") == "the key [key], says [key]."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/key.json"),
        ("VERTEX_CREDENTIALS", "C:\\ada\\key.json"),
        *(("AWS_WEB_IDENTITY_TOKEN_FILE", "/run/token"), ("GITHUB_COPILOT_ACCESS_TOKEN_URL", "https://example.com")),
        *(("TOKENIZERS_PARALLELISM", "not parallel"), ("MONKEYS", "Capuchins"), ("KEYBOARD_LAYOUT", "dvorak-de")),
        ("PYTHON_KEYRING_BACKEND", "keyring.backends.null"),
    ],
)
def test_what_is_no_secret_is_told(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert redact(f"at {value}") == f"at {value}"


@pytest.mark.parametrize("value", [CERTIFICATE, json.dumps({"type": "service_account", "private_key": CERTIFICATE})])
@pytest.mark.parametrize("shown", ["q81w3Zx81Spectrum48kabcdef", CERTIFICATE, json.dumps(CERTIFICATE)])
def test_a_part_of_a_certificate_is_one_too(value: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERTEX_CREDENTIALS", value)
    assert "Spectrum" not in redact(f"cannot use {shown}")


def test_what_looks_like_a_token_is_one() -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig-123"
    assert redact(f"sent {token}, ghp_0123456789abcdef") == "sent [key], [key]"


def raising(error: Exception) -> Callable[[Sequence[object]], str]:
    def answer(_: Sequence[object]) -> str:
        raise error

    return answer


def test_what_a_function_raises_by_mistake_is_told_in_one_line_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN_2", KEY)
    told = r": raised RuntimeError: cannot call with \[key\] at all$"
    with (
        Index(tmp_path / "n.usearch", model=raising(RuntimeError(f"cannot call\n  with {KEY}\nat all"))) as index,
        pytest.raises(LLMSetupError, match=told) as caught,
    ):
        index.add(DOCUMENTS, progress=False)
    assert KEY not in repr(caught.value)


def test_a_long_result_is_cut_behind_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN_2", KEY)
    with (
        Index(tmp_path / "n.usearch", model=lambda _: ["x" * 90 + KEY]) as index,  # type: ignore[arg-type]  # it is the test
        pytest.raises(LLMSetupError, match=r"gave list .*x\[key.*, not the text of a reply$"),
    ):
        index.add(DOCUMENTS, progress=False)


class Failing(OfflineReasoner):
    """A reasoner of one's own whose model refuses."""

    model = "mine"

    async def extract(self, passage: Passage, *, title: str) -> Extraction:
        raise LLMReplyError("mine", f"refused {title}\nwith {KEY} ({passage.text})")


@pytest.mark.parametrize("kind", ["function", "reasoner"])
def test_what_is_kept_and_logged_of_an_own_failure_has_no_key(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SNOWFLAKE_JWT", KEY)
    model = Failing() if kind == "reasoner" else raising(LLMReplyError("mine", f"refused\nwith {KEY}"))
    path = tmp_path / "n.usearch"
    with caplog.at_level(logging.DEBUG), Index(path, model=model) as index:
        (failure,) = index.add(DOCUMENTS, progress=False).failed
        assert re.match(r"mine: refused( Aylwin)? with \[key\]", failure.reason)
        assert index.info().failed == (failure,)
    assert KEY.encode() not in path.read_bytes()
    assert KEY not in caplog.text


def test_what_a_provider_repeats_of_the_environment_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
    with Loopback(lambda _: status(403, f"bad token {KEY}")) as server:
        index = Index(tmp_path / "n.usearch", model="openai/any", api_base=server.api_base)
        with index, pytest.raises(LLMSetupError, match=r"bad token \[key\]$"):
            index.add(DOCUMENTS, progress=False)


def test_a_message_is_bounded() -> None:
    error = LLMError("mine", "word " * 10_000)
    assert len(str(error)) == 1_500
    assert str(error).endswith(" wor…")
