"""Whether a model's setup works: while no call was ever answered, requests that are all refused alike end a run."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from minirag.records import Ledger

ENOUGH = 20  # questions of a run that are refused alike, before any is answered


class Setup:
    """What the calls of one model have shown of its setup.

    The first that the provider took, be it to say that this prompt is too long, proves it for good: whatever is refused
    from then on is that question's own failure.
    """

    def __init__(self) -> None:
        """Nothing is known."""
        self._is_proven = False
        self._refused: WeakKeyDictionary[Ledger, tuple[int | None, int]] = WeakKeyDictionary()  # a ledger is a run

    def prove(self) -> None:
        """The provider took a request."""
        self._is_proven = True

    def refuse(self, ledger: Ledger, status: int | None) -> bool:
        """A question was refused with this HTTP status, in whatever form it was put.

        Returns:
            Whether all others of the run would be as well.
        """
        before, count = self._refused.get(ledger, (status, 0))
        count = count + 1 if before == status else 1
        self._refused[ledger] = (status, count)
        return not self._is_proven and count >= ENOUGH
