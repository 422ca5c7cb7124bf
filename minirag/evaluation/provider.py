"""A provider that fails, in a process of its own: what the bench indexes through, and who counts what it was asked.

`python -m minirag.evaluation.provider` prints its address, serves until its standard input closes, and then prints one
line of JSON with what it did.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Any

from minirag.evaluation.faults import broken_body, cut, doubled, empty_choices, fenced, refusal, status, truncated
from minirag.evaluation.fresh import child_environment
from minirag.evaluation.honest import honest_reply
from minirag.evaluation.loopback import Loopback, Request, Served, honest

ASKED_TO_WAIT = 1.0  # seconds, by Retry-After
WITH_WAIT = "429, Retry-After"
LATE = 3.0  # seconds until the first byte of a request that hangs
_WRONG_TYPES = Served(text='{"nothing_to_extract": 3, "facts": 3, "triples": "none", "entities": "none"}')
_SELDOM_LATE = 4  # a request that hangs is as likely as the fourth part of another fault: each takes so much longer


class FailingModel:
    """The honest model behind a network and a provider that fail in every way.

    Attributes:
        kinds: How many requests met with what; "answered" is an answer as it should be.
        usable: How often each question got an answer that can be used: what somebody paid for.
        met: What the requests about each question met with, in the order of asking.
    """

    def __init__(self, rate: float, *, delay: float, seed: int = 0) -> None:
        """Let `rate` of the requests meet a fault, drawn from `seed`; all take `delay` seconds."""
        self.kinds: Counter[str] = Counter()
        self.usable: Counter[str] = Counter()
        self.met: dict[str, list[str]] = {}
        self._rate, self._delay = rate, delay
        self._dice, self._lock = random.Random(seed), threading.Lock()

    def __call__(self, request: Request) -> Served:
        """The answer to a request."""
        question = request.prompt.split("\n", 1)[0]
        faults = _faults(honest_reply(request.prompt), self._delay)
        names = [name for name in faults for _ in range(1 if name == "late" else _SELDOM_LATE)]
        with self._lock:
            name = self._dice.choice(names) if self._dice.random() < self._rate else "answered"
            self.kinds[name] += 1
            self.met.setdefault(question, []).append(name)
            self.usable[question] += name in ("answered", "fenced", "doubled")
        served = honest(request) if name == "answered" else faults[name]
        return served if served.delay else replace(served, delay=self._delay)

    def report(self) -> dict[str, Any]:
        """What it did, as JSON values."""
        twice = sum(1 for count in self.usable.values() if count > 1)
        met: dict[str, list[list[str]]] = {}
        for question, names in self.met.items():
            met.setdefault(json.loads(question)["task"], []).append(names)
        return {"requests": self.kinds.total(), "kinds": dict(self.kinds), "answered_twice": twice, "met": met}


def _faults(reply: Mapping[str, Any], delay: float) -> dict[str, Served]:
    return {
        WITH_WAIT: status(429, headers={"Retry-After": f"{ASKED_TO_WAIT:.0f}"}),
        "429": status(429),
        "500": status(500),
        "503": status(503),
        "late": Served(text=json.dumps(reply), delay=max(LATE, 2 * delay)),
        "cut": cut(),
        "cut in the body": cut(20),
        "broken body": broken_body(),
        "empty choices": empty_choices(),
        "truncated": truncated(reply),
        "wrong types": _WRONG_TYPES,
        "refusal": refusal(),
        "fenced": fenced(reply),
        "doubled": doubled(reply),
    }


@dataclass(slots=True)
class Provider:
    """The process, as its parent sees it.

    Attributes:
        api_base: What to pass as `api_base`.
        report: What it did, once it has ended: `requests`, `kinds`, `answered_twice`, and `met`: by task, for each
            question in the order of asking, what its requests met with.
    """

    api_base: str
    report: dict[str, Any] = field(default_factory=dict)


@contextmanager
def running_provider(*, rate: float, delay: float) -> Iterator[Provider]:
    """A failing provider for as long as the block lasts.

    Args:
        rate: The share of the requests that meet a fault.
        delay: Seconds that each request takes.
    """
    command = [sys.executable, "-P", "-m", __name__, "--rate", str(rate), "--delay", str(delay)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=child_environment(), **pipes) as process:  # type: ignore[call-overload]  # a dict of two
        provider = Provider(process.stdout.readline().strip())
        try:
            yield provider
        finally:
            said, _ = process.communicate("")
            provider.report.update(json.loads(said))


_HELP = """\
Serve a failing provider on 127.0.0.1: try there what minirag does when calls fail, without a key or a cent.

It answers minirag's own prompts by rules, as any model name, and prints its address (api_base) first. When its standard
input closes (Ctrl-D), it prints one line of JSON with what it did: `requests`, `kinds` (how many met with what),
`answered_twice` (questions that got two usable answers) and `met` (by task, what each question met with, in order).
"""
_EPILOG = f"""\
{{kinds}}
"429, Retry-After" asks to wait {ASKED_TO_WAIT:.0f} s. "late" comes after {LATE:.0f} s: a client whose timeout is
shorter asks again. "fenced" and "doubled" can be read all the same, and "refusal" is named as the document's failure;
after the others minirag asks again.

Example, in two terminals:
  python -m minirag.evaluation.provider --port 8700 --rate 0.3
  minirag index docs/ --index try.usearch --model openai/any --api-base http://127.0.0.1:8700/v1 --timeout 2 -v
"""


def _arguments() -> argparse.ArgumentParser:
    kinds = fill(f"A request that fails meets one of these: {'; '.join(_faults({'facts': []}, 0.0))}.", 119)
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog=f"python -m {__spec__.name}", description=_HELP, epilog=_EPILOG.format(kinds=kinds), formatter_class=form
    )
    rate, delay, port = _number(float, 1.0), _number(float, 3600.0), _number(int, 65535)
    parser.add_argument("--rate", type=rate, default=0.3, help="share of the requests that fail, 0 to 1 [%(default)s]")
    parser.add_argument("--delay", type=delay, default=0.2, help="seconds before each answer [%(default)s]")
    parser.add_argument("--port", type=port, default=0, help="where it listens; 0 takes a free one [%(default)s]")
    parser.add_argument("--seed", type=int, default=0, help="of the dice that choose what fails [%(default)s]")
    return parser


def _number(kind: type[float], most: float) -> Callable[[str], float]:
    def read(said: str) -> float:
        try:
            number = kind(said)
        except ValueError:
            number = -1
        if not 0 <= number <= most:
            least = f"{'a whole' if kind is int else 'a'} number from 0"
            raise argparse.ArgumentTypeError(f"{said!r} is not {least} to {most:g}")
        return number

    return read


def main() -> None:
    """Serve until standard input closes."""
    parser = _arguments()
    options = parser.parse_args()
    model = FailingModel(options.rate, delay=options.delay, seed=options.seed)
    try:
        loopback = Loopback(model, port=options.port)
    except OSError as error:
        parser.error(f"port {options.port} cannot be had: {error.strerror or error}")
    with loopback as server:
        sys.stdout.write(server.api_base + "\n")
        sys.stdout.flush()
        sys.stdin.read()
        sys.stdout.write(json.dumps(model.report()) + "\n")


if __name__ == "__main__":
    main()
