"""What providers say where an account cannot pay, or was closed: no other call can succeed, whatever the status."""

from __future__ import annotations

import re

_NO_CREDIT = re.compile(
    r"insufficient[ _](?:quota|balance|credit|fund)|credit balance|payment required|credit limit exceeded"
    r"|billing[ _](?:hard[ _]limit|not[ _]active|disabled)|requires billing to be enabled"  # OpenAI, Google
    r"|(?:specified|monthly) (?:\w+ ){0,2}usage limit|spend(?:ing)?[ _](?:limit|cap)"  # Anthropic, xAI, Google
    r"|credits (?:are|were|have been) (?:depleted|exhausted|used up)|(?:all|out of|no) (?:\w+ )?credits\b"
    r"|included credits|api calls / month"  # Hugging Face, Cohere's trial keys
    r"|(?:overdue|outstanding) (?:balance|payment)|arrearage|余额不足|欠费"  # Alibaba, Volcengine, Zhipu
    r"|(?:account|organi[sz]ation|project|workspace|team|subscription)\b.{0,80}? (?:is|was|has been) "
    r"(?:suspended|deactivated|disabled|terminated|restricted|inactive|not active|overdue)",
    re.IGNORECASE,
)


def tells_no_credit(text: str) -> bool:
    """Whether a provider's words say so; that a limit of the rate is reached is something else."""
    return _NO_CREDIT.search(text) is not None
