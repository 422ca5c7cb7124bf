"""A provider that refuses requests: all of them from the start, from some moment on, or those of a few documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minirag import Document, Index
from minirag.errors import LLMSetupError
from minirag.llm import LLM
from tests.loopback import Loopback, Request, Served, honest, status

MORE = [Document(f"d{n}", f"Person {n} was born in Bergen.", f"Person {n}") for n in range(240)]
MANY = MORE[:60]
TOLD = "^openai/any: the first 20 requests were not accepted, and none was answered: something strange$"


def opened(path: Path, server: Loopback, *, max_parallel: int = 16) -> Index:
    model = LLM("openai/any", api_base=server.api_base, api_key="secret", max_parallel=max_parallel)
    return Index(path, model=model)


def test_a_run_ends_when_all_of_its_first_requests_are_refused_alike(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with Loopback(lambda _: status(400, "something strange")) as server, opened(path, server) as index:
        for _ in range(2):  # the next run tries for itself
            server.requests.clear()
            with pytest.raises(LLMSetupError, match=TOLD):
                index.add(MORE, progress=False)
            assert len({request.prompt for request in server.requests}) < 120  # 20, and those on their way meanwhile
        assert (len(index), index.info().failed) == (0, ())
    with Loopback(honest) as server, opened(path, server) as index:
        report = index.add(MANY, progress=False)
        assert (len(report.added), report.failed) == (60, ())


def test_one_answer_proves_the_setup(tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return honest(request) if "Person 7 " in request.prompt else status(400, "something strange")

    # One at a time, so that the answer comes before the twentieth refusal however slow the machine is.
    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server, max_parallel=1) as index:
        report = index.add(MANY, progress=False)
    assert (len(report.added), len(report.failed)) == (60, 59)
    assert {failure.reason for failure in report.failed} == {
        "openai/any: the request was not accepted: something strange"
    }


def test_few_refused_documents_are_named(tmp_path: Path) -> None:
    serve = [status(400, "something strange")] * 200
    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server) as index:
        assert len(index.add(MANY[:19], progress=False).failed) == 19


def test_documents_that_are_refused_in_a_row_end_nothing_while_others_would_be_answered(tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        is_odd = any(f"Person {n} " in request.prompt for n in range(20, 40)) and request.prompt not in answered
        if is_odd:
            return status(400, "something strange")
        answered.add(request.prompt)
        return honest(request)

    answered: set[str] = set()
    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server, max_parallel=1) as index:
        report = index.add(MANY, progress=False)
        assert (len(report.added), len(report.failed)) == (60, 20)
        again = index.add([], progress=False)  # which tries them again, one after the other
    assert len(again.failed) == 20


def test_what_is_refused_each_time_does_not_keep_others_out(tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return status(400, "something strange") if "Person" in request.prompt else honest(request)

    path = tmp_path / "notes.usearch"
    for place in ("Bergen", "Oslo"):  # the second time all that failed comes first, and nothing was answered yet
        with Loopback(serve) as server, opened(path, server, max_parallel=1) as index:
            report = index.add([*MANY[:30], Document(place, f"{place} is a town.")], progress=False)
            assert (report.added[-1], len(report.failed)) == (place, 30)
            assert len(index) == 32 if place == "Oslo" else 31


@pytest.mark.parametrize("parallel", [1, 16])
def test_what_was_answered_before_and_is_refused_now_ends_the_run(parallel: int, tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return honest(request) if len(server.requests) <= 30 else status(400, f"something strange: {request.prompt}")

    path = tmp_path / "notes.usearch"
    with Loopback(serve) as server, opened(path, server, max_parallel=parallel) as index:
        told = r"^openai/any: what was answered before is not accepted any more: something strange.*is kept, 30 replies"
        with pytest.raises(LLMSetupError, match=told):
            index.add(MANY, progress=False)
        assert len(server.requests) <= 30 + 3 + 1 + 2 * parallel  # some are on their way meanwhile
        assert (len(index), index.info().failed) == (0, ())
    with Loopback(honest) as server, opened(path, server) as index:
        report = index.add(MANY, progress=False)
        assert (len(report.added), report.failed) == (60, ())
        assert server.tasks().count("extract") == 30


WITHOUT_CREDIT = [
    status(400, "Billing hard limit has been reached", code="billing_hard_limit_reached"),
    status(429, "Your account is not active, please check your billing details.", code="billing_not_active"),
    status(400, "You have reached your specified API usage limits. You will regain access on 2026-12-01."),
    status(400, "Your credit balance is too low to access the Anthropic API."),
    status(429, "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing."),
    status(429, "Your project has exceeded its monthly spending cap."),
    status(412, "Account mine-123 is suspended, possibly due to failure to pay past invoices."),
    status(429, "Your account org-1 <ak-2> is suspended, please check your plan", code="exceeded_current_quota_error"),
    status(400, "This organization has been disabled."),
    status(400, "Organization has been restricted.", code="organization_restricted"),
    status(429, "You are using a Trial key, which is limited to 1000 API calls / month."),
    status(400, "Access denied.", code="Arrearage"),
    status(429, "余额不足或无可用资源包,请充值。"),
]


@pytest.mark.parametrize("answered", [0, 5])
@pytest.mark.parametrize("refusal", WITHOUT_CREDIT)
def test_an_account_that_cannot_pay_ends_the_run_at_once(refusal: Served, answered: int, tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return honest(request) if len(server.requests) <= answered else refusal

    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server, max_parallel=1) as index:
        with pytest.raises(LLMSetupError, match=re.escape(refusal.error["message"].rstrip("."))):
            index.add(MANY, progress=False)
        assert len(server.requests) == answered + 1
        assert len(index) == 0


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached for gpt-4o in organization org-1 on requests per min (RPM): Limit 3. See your account.",
        "You exceeded your current quota, please check your plan and billing details. Please retry in 0.01s.",
        "This request would exceed your organization's rate limit of 50 requests per minute.",
    ],
)
def test_a_limit_of_the_rate_is_waited_for(message: str, tmp_path: Path) -> None:
    def serve(request: Request) -> Served:
        return status(429, message) if len(server.requests) == 2 else honest(request)

    with Loopback(serve) as server, opened(tmp_path / "notes.usearch", server) as index:
        assert index.add(MANY[:3], progress=False).failed == ()
