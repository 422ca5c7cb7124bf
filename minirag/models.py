"""Which model does which of the thinking tasks: by name, from the environment, offline, or an object of the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from minirag import loop
from minirag.records import Ledger, Prompts, Task, Thinking

if TYPE_CHECKING:
    from litellm.router import Router

    from minirag.llm import LLM, Price
    from minirag.llm.own import Answering
    from minirag.llm.pacing import Gate
    from minirag.reasoner import Reasoner

AnyModel: TypeAlias = "str | LLM | Router | Answering | Reasoner"
"""A LiteLLM name, "offline", an `LLM`, a LiteLLM `Router`, a function from messages to text, or an own `Reasoner`."""

OFFLINE = "offline"
VARIABLE = "MINIRAG_MODEL"
MAX_PARALLEL = 16  # calls of an own reasoner that run at once, as those of an `LLM`
INDEXING: tuple[Task, ...] = ("extract", "bridge")
# Options that say where a model is that is called by its name, and who one is there.
_OF_A_NAME = ("api_base", "api_key", "router", "extra_headers", "headers", "base_url", "api_version", "organization")
_OF_A_CLOUD = ("aws_", "azure_", "vertex_")  # as these begin
ASKING: tuple[Thinking, ...] = ("read", "think", "extend")
TASKS: tuple[Task, ...] = ("extract", "bridge", "extend", "think", "read")


def check_tasks(models: Mapping[str, Any] | None) -> None:
    """See that models are given for tasks that there are.

    Raises:
        ValueError: If one is not.
    """
    for task, model in (models or {}).items():
        if task not in TASKS:
            raise ValueError(f"models names the task {task!r}; there are {', '.join(TASKS)}")
        _check(model)


def _check(model: object) -> None:
    if isinstance(model, str) and not model.strip():
        raise ValueError("model must not be blank; leave it out for the offline one")
    if not isinstance(model, str) and not callable(model) and not _is_reasoner(model):
        from minirag.llm import LLM
        from minirag.llm.own import is_router

        if not isinstance(model, LLM) and not is_router(model):
            raise ValueError(
                "model must be a LiteLLM name, 'offline', a Router, a function from messages to text, or a Reasoner, "
                f"not {model!r}"
            )


class Models:
    """The models that one index uses.

    Attributes:
        chosen: Whether the user named any.
    """

    def __init__(
        self, model: AnyModel | None, options: Mapping[str, Any], models: Mapping[str, AnyModel] | None = None
    ) -> None:
        """Nothing is imported or called yet.

        Args:
            model: Thinks unless another is named; None asks `MINIRAG_MODEL`.
            options: For `LLM`.
            models: By task, in the place of `model`. Without `model`, a task that is not named goes with another one of
                its time, indexing (extract, bridge) or asking (read, think, extend), else it is done offline.

        Raises:
            ValueError: If a name is blank, or a task unknown.
        """
        named = model if model is not None else os.environ.get(VARIABLE) or None
        check_tasks(models)
        if named is not None:
            _check(named)
        self.chosen = named is not None or bool(models)
        self._named = named
        self._by_task: dict[Task, AnyModel] = {task: models[task] for task in TASKS if models and task in models}
        self._options = dict(options)
        self._clients: dict[str | int, LLM] = {}
        self._gates: dict[tuple[int, int], Gate] = {}  # by process and own reasoner

    @property
    def prices(self) -> Mapping[str, Sequence[float]] | None:
        """Dollars per million tokens that the user gave, by the names of models."""
        return self._options.get("prices")

    @property
    def default(self) -> str:
        """The name of the model that thinks, the reader's where they differ."""
        return self.name(None)

    def name(self, model: AnyModel | None, *, task: Task = "read", models: Mapping[str, AnyModel] | None = None) -> str:
        """What the model of a task is called."""
        beside = self._given(model, models)
        return self._reasoner(self._model_for(task, model, models), Ledger(), beside=beside).model

    def given_for(self, task: Task) -> AnyModel:
        """Who does a task, as it was given; nothing is imported for that."""
        return self._model_for(task, None, None)

    def reasoner(
        self,
        model: AnyModel | None,
        ledger: Ledger,
        *,
        models: Mapping[str, AnyModel] | None = None,
        prompts: Prompts | None = None,
    ) -> Reasoner:
        """Who thinks, counting into `ledger`.

        Args:
            model: In the place of all that the index was opened with; None for those.
            ledger: Gets what its calls take; of a `Reasoner` of the user's own, that there were so many.
            models: By task, in the place of `model`.
            prompts: What is special about them; a `Reasoner` of the user's own has its own.

        Raises:
            ValueError: If a name is blank, or a task unknown.
        """
        check_tasks(models)
        chosen = {task: self._model_for(task, model, models) for task in TASKS}
        distinct = {_identity(each): each for each in chosen.values()}
        beside = self._given(model, models)
        reasoners = {
            identity: self._reasoner(each, ledger, prompts, beside=beside) for identity, each in distinct.items()
        }
        if len(reasoners) == 1:
            return next(iter(reasoners.values()))
        from minirag.reasoner.by_task import ReasonerByTask

        return ReasonerByTask({task: reasoners[_identity(each)] for task, each in chosen.items()})

    def price(
        self, model: AnyModel | None, *, task: Task = "extract", models: Mapping[str, AnyModel] | None = None
    ) -> Price | None:
        """What the tokens of a task cost; None where unknown."""
        chosen = self._model_for(task, model, models)
        if _is_free(chosen):
            from minirag.llm import Price

            return Price(0.0, 0.0, 0.0)
        return None if _is_reasoner(chosen) else self._client(chosen, self._given(model, models)).price

    def check_prices(
        self, tasks: Sequence[Task], model: AnyModel | None, *, models: Mapping[str, AnyModel] | None = None
    ) -> None:
        """See that the price of whoever does these tasks is known, so that a budget can be kept.

        Raises:
            InputError: If one is not.
        """
        called = [task for task in tasks if not _is_free(self._model_for(task, model, models))]
        unpriced = [task for task in called if self.price(model, task=task, models=models) is None]
        if unpriced:
            from minirag.llm import LLM
            from minirag.llm.sending import unknown_price

            names = {task: self.name(model, task=task, models=models) for task in unpriced}
            first = names[unpriced[0]]
            who = self._model_for(unpriced[0], model, models)
            raise unknown_price(
                first,
                [task for task in unpriced if names[task] == first],
                is_reasoner=_is_reasoner(who),
                is_client=isinstance(who, LLM),
            )

    def _model_for(self, task: Task, model: AnyModel | None, models: Mapping[str, AnyModel] | None) -> AnyModel:
        """The call's own word prevails over the index's, a task's own model over the one for all."""
        if models and task in models:
            return models[task]
        if model is not None:
            return model
        if task in self._by_task:
            return self._by_task[task]
        if self._named is not None:
            return self._named
        alike = INDEXING if task in INDEXING else ASKING
        return next((self._by_task[other] for other in alike if other in self._by_task), OFFLINE)

    def _given(self, model: AnyModel | None, models: Mapping[str, AnyModel] | None) -> list[AnyModel | None]:
        """All models that a call and the index were given."""
        return [self._named, *self._by_task.values(), model, *(models or {}).values()]

    def _reasoner(
        self, model: AnyModel, ledger: Ledger, prompts: Prompts | None = None, *, beside: Sequence[AnyModel | None]
    ) -> Reasoner:
        if model == OFFLINE:
            from minirag.reasoner.offline import OfflineReasoner

            return OfflineReasoner(ledger)
        if _is_reasoner(model):
            return self._own(model, ledger)  # type: ignore[arg-type]  # it has been looked at
        from minirag.reasoner.by_llm import LLMReasoner

        return LLMReasoner(self._client(model, beside), ledger, prompts=prompts)

    def _own(self, reasoner: Reasoner, ledger: Ledger) -> Reasoner:
        """One of the user's own within the run's limits; one that passes its tasks on is those that do them."""
        from minirag.llm.pacing import Gate
        from minirag.reasoner import who_does
        from minirag.reasoner.by_task import ReasonerByTask
        from minirag.reasoner.own import own_reasoner

        here = os.getpid(), id(reasoner)  # a place that was taken when it was forked is never given back in the child
        gate = self._gates.setdefault(here, Gate(self._options.get("max_parallel", MAX_PARALLEL)))
        doing = {task: who_does(reasoner, task) for task in TASKS}
        limited = {id(each): each if _is_free(each) else own_reasoner(each, ledger, gate) for each in doing.values()}
        if len(limited) == 1:
            return limited.popitem()[1]
        return ReasonerByTask({task: limited[id(each)] for task, each in doing.items()})

    def _client(self, model: Any, beside: Sequence[AnyModel | None]) -> LLM:  # noqa: ANN401  any but a reasoner
        identity = _identity(model)
        if identity not in self._clients:
            from minirag.llm import LLM

            client = model if isinstance(model, LLM) else LLM(model, **self._options_for(model, beside))
            client.lend(self)
            self._clients[identity] = client
        return self._clients[identity]

    def _options_for(self, model: Any, beside: Sequence[AnyModel | None]) -> dict[str, Any]:  # noqa: ANN401  as above
        """Those of the index. What says where a model is goes to those that are names, if there is any."""
        if isinstance(model, str) or not any(isinstance(each, str) and each != OFFLINE for each in beside):
            return self._options
        return {name: value for name, value in self._options.items() if not _says_where(name)}

    def close(self) -> None:
        """Close connections that no other index uses."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            loop.run_or_start(client.give_back(self))


def _says_where(option: str) -> bool:
    return option in _OF_A_NAME or option.startswith(_OF_A_CLOUD)


def _identity(model: AnyModel) -> str | int:
    return model if isinstance(model, str) else id(model)


def _is_free(model: object) -> bool:
    """Whether it is minirag's own reasoner by rules, by name or as an object: it calls nobody."""
    from minirag.reasoner.offline import OfflineReasoner

    return model == OFFLINE or type(model) is OfflineReasoner


def _is_reasoner(model: object) -> bool:
    return not isinstance(model, str) and all(hasattr(model, name) for name in (*TASKS, "model", "version"))
