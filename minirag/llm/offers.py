"""Who may answer to a model's name, what tokens cost there, and how long a prompt may be: known before any call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from minirag.llm.caching import wants_marks
from minirag.llm.completions import note_of
from minirag.llm.own import deployments_behind, find_deployment
from minirag.llm.prices import Price, find_price, highest, price_given, price_in
from minirag.llm.routing import Route, find_entry, find_route, find_window

# What a deployment may say of itself, under the names that LiteLLM's map has for it.
_TOLD = (
    *("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost"),
    *("cache_creation_input_token_cost", "max_input_tokens"),
)


@dataclass(frozen=True, slots=True)
class Offer:
    """One who may answer.

    Attributes:
        price: Dollars per token, None where unknown.
        window: How many tokens a prompt may have, None where unknown.
        wants_marks: Whether it is to be told what of a prompt stays the same.
    """

    price: Price | None
    window: int | None
    wants_marks: bool


class Offers:
    """Those of one name: of a model itself, or of the deployments that a LiteLLM router has behind it.

    They are looked up when first asked for, as LiteLLM's map takes a while to read.
    """

    def __init__(
        self, name: str, route: Route, given: object, *, api_base: str | None, prices: Mapping[str, Sequence[float]]
    ) -> None:
        """Nothing is looked up yet.

        Args:
            name: The model's, as it was given.
            route: To the model.
            given: The router, where it is one.
            api_base: The model's address, where it is given.
            prices: What the user says, as for `LLM`; a router's deployments are also known by their models' names.

        Raises:
            ValueError: If a price is none.
        """
        self._route, self._given, self._api_base, self._prices = route, given, api_base, prices
        self._price_given = price_given(name, prices)
        self._by_deployment: dict[str, Price | None] = {}

    @cached_property
    def price(self) -> Price | None:
        """Dollars per token: the highest where several may answer, None where one is unknown."""
        return self._price_given or highest(offer.price for offer in self._offers)

    @cached_property
    def window(self) -> int | None:
        """How many tokens a prompt may have: the fewest where several may answer, None where one is unknown."""
        windows = [offer.window for offer in self._offers]
        return min((window for window in windows if window), default=None) if all(windows) else None

    @property
    def want_marks(self) -> bool:
        """Whether all of them are to be told what of a prompt stays the same: others may not understand it."""
        return bool(self._offers) and all(offer.wants_marks for offer in self._offers)

    def price_of(self, answer: object) -> Price | None:
        """Dollars per token of who gave an answer: of a router's deployment, fallbacks included, by its note on it."""
        if self._price_given is not None or self._route.library != "router":
            return self.price
        named = note_of(answer, "model_id")
        if named is None:
            return self.price
        if named not in self._by_deployment:
            found = find_deployment(self._given, named, self._route.model)
            self._by_deployment[named] = self._offer_of(found).price if found else None
        return self._by_deployment[named]

    @cached_property
    def _offers(self) -> tuple[Offer, ...]:
        if self._route.library == "router":
            return tuple(map(self._offer_of, deployments_behind(self._given, self._route.model)))
        return (self._offer_by(self._route, self._api_base, {}),)

    def _offer_of(self, deployment: Mapping[str, Any]) -> Offer:
        """What a deployment says of itself counts before what is known of its model."""
        options, notes = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
        told = {name: value for given in (options, notes) for name in _TOLD if (value := given.get(name)) is not None}
        model, base = str(options.get("model")), notes.get("base_model") or options.get("base_model")
        given = price_given(model, self._prices)
        if base:  # what stands behind a name that its provider lets one choose
            return self._offer_by(find_route(str(base)), None, told, given=given)
        provider, address = options.get("custom_llm_provider"), options.get("api_base")
        named = model if not provider or model.startswith(f"{provider}/") else f"{provider}/{model}"
        return self._offer_by(find_route(named, api_base=address), address, told, given=given)

    def _offer_by(
        self, route: Route, address: str | None, told: Mapping[str, Any], *, given: Price | None = None
    ) -> Offer:
        entry = {**find_entry(route, api_base=address), **told}
        price = price_in(entry) if "input_cost_per_token" in told else find_price(route, api_base=address)
        most = told.get("max_input_tokens")
        window = most if isinstance(most, int) and most > 0 else find_window(route, api_base=address)
        return Offer(given or price, window, wants_marks(route.model))
