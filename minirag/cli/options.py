"""Options that several commands share, and what they come to."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from minirag.cli.choices import DOLLARS, SECONDS, Choice, Place
from minirag.cli.printing import echo_note
from minirag.filtering import parse_filter
from minirag.following import SIGNALS
from minirag.models import OFFLINE, TASKS, VARIABLE, Models, check_tasks
from minirag.retrieving import SearchMode
from minirag.strategies import STRATEGIES, default_strategy, ircot, kirag

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
FILE = Place(dir_okay=False, path_type=Path)

index_option = click.option(
    "--index",
    "path",
    envvar="MINIRAG_INDEX",
    show_envvar=True,
    required=True,
    metavar="FILE",
    type=FILE,
    help="The index file.",
)


def index_either_way(function: Callable[..., None]) -> Callable[..., None]:
    """The index as a command's argument, or by --index as for the others; the command gets it as `path`."""

    @functools.wraps(function)
    def run(*, file: Path | None, path: Path | None, **arguments: object) -> None:
        context = click.get_current_context()
        if file is None and path is None:
            raise click.UsageError(f"name the index: {context.command_path} FILE")
        if file is not None and context.get_parameter_source("path") is ParameterSource.COMMANDLINE and file != path:
            raise click.UsageError(f"the index is named twice: {file} and {path}")
        function(path=file or path, **arguments)

    named = click.option(
        "--index", "path", envvar="MINIRAG_INDEX", show_envvar=True, metavar="FILE", type=FILE, help="The same."
    )
    return click.argument("file", required=False, type=FILE)(named(run))


strategy_option = click.option(
    "--strategy", type=Choice(list(STRATEGIES)), help="How to retrieve [indexrag with a model, kirag offline]."
)
k_option = click.option(
    "-k", type=click.IntRange(min=1), help="How many pieces of evidence are read [10 facts, or 5 passages]."
)
_COUNT = click.IntRange(min=1)


def _switch_off(switch: str, name: str, text: str) -> Callable[[Decorated], Decorated]:
    """A flag that makes an option False; None without it."""
    return click.option(switch, name, is_flag=True, callback=lambda _, __, given: False if given else None, help=text)


_STRATEGY_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--k-b", type=click.IntRange(min=0), help="indexrag, ircot: bridging facts among the evidence [3]."),
    click.option("--mode", type=Choice(get_args(SearchMode)), help="naive: search by meaning, words, or both."),
    click.option("--over", type=Choice(list(ircot.KINDS_OVER)), help="ircot: what is searched [indexrag]."),
    click.option("--steps", type=_COUNT, help="kirag, ircot: most steps [5; offline 2]."),
    click.option(
        "--units",
        type=Choice(list(kirag.KIND_OF)),
        help="kirag: what chains are made of [triple; sentence where indexed offline].",
    ),
    click.option(
        "--query",
        type=Choice(get_args(kirag.Query)),
        help="kirag: search with the whole chain or its last unit [chain].",
    ),
    click.option("--pool", type=_COUNT, help="kirag: passages looked into per step [10]."),
    click.option("--candidates", type=_COUNT, help="kirag: units proposed per step [20]."),
    click.option(
        "--without",
        multiple=True,
        type=Choice(SIGNALS),
        callback=lambda _, __, given: given or None,
        help="kirag: leave a signal out of the score, to see what it contributes.",
    ),
    _switch_off("--no-constructor", "constructor", "kirag: take the best candidate, ask no model."),
    _switch_off("--no-bridges", "bridges", "kirag: do not follow shared names, as in the paper."),
)
where_option = click.option(
    "--where",
    metavar="JSON",
    callback=lambda _, __, given: _read_filter(given),
    help="""Only documents whose metadata pass, such as '{"year": {"$gte": 2000}}'.""",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print failures only.")


def _read_filter(given: str | None) -> dict[str, Any] | None:
    """What `--where` says.

    Raises:
        click.BadParameter: If it is no filter.
    """
    if given is None:
        return None
    try:
        where = json.loads(given)
        parse_filter(where)
    except json.JSONDecodeError as error:
        raise click.BadParameter(f"this is no JSON ({error}): {given}") from error
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return dict(where)


def model_options(function: Decorated) -> Decorated:
    """`--model`, `--api-base`, and the options of `_MODEL_LIMITS`, which `model_arguments` finds in the context."""
    model = click.option(
        "--model",
        envvar=VARIABLE,
        show_envvar=True,
        metavar="NAME",
        help='A LiteLLM name, such as openai/gpt-4o-mini, or "offline" (the default: by rules, free).',
    )
    api_base = click.option(
        "--api-base", metavar="URL", help="The address of an OpenAI-compatible server that has the model."
    )
    for option in reversed(_MODEL_LIMITS):
        function = option(function)
    return model(api_base(function))


def _remember(ctx: click.Context, param: click.Parameter, given: Any) -> None:  # noqa: ANN401
    if given:
        ctx.meta.setdefault(_OF_MODELS, {})[param.name] = given


def _read_models(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> None:
    """`TASK=NAME`, each of them.

    Raises:
        click.BadParameter: If one is not, or names no task.
    """
    models = {task.strip(): name.strip() for task, _, name in (each.partition("=") for each in given)}
    try:
        check_tasks(models)
    except ValueError as error:
        raise click.BadParameter(f"{error}; as in --model-for read=openai/gpt-4o") from error
    _remember(ctx, param, models)


def models_by_task() -> dict[str, str]:
    """What the user said by `--model-for`."""
    given: dict[str, str] = click.get_current_context().meta.get(_OF_MODELS, {}).get("models", {})
    return given


_OF_MODELS = "minirag.models"
_MODEL_LIMITS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--model-for",
        "models",
        multiple=True,
        metavar="TASK=NAME",
        callback=_read_models,
        expose_value=False,
        help=f"Another model for one task ({', '.join(TASKS)}); may be given several times.",
    ),
    *(
        click.option(
            spelled, type=kind, metavar="N", callback=_remember, expose_value=False, help=f"Of the model: {text}."
        )
        for spelled, kind, text in (
            ("--timeout", SECONDS, "seconds for one attempt of a call [60]"),
            ("--max-parallel", _COUNT, "calls at once [16]"),
            ("--requests-per-minute", _COUNT, "at most so many [no limit]"),
            ("--tokens-per-minute", _COUNT, "at most so many [no limit]"),
        )
    ),
)


encoder_option = click.option(
    "--encoder", metavar="NAME", help="A folder with an ONNX encoder, or a LiteLLM embedding model's name."
)


def _read_prices(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> None:
    """`NAME=SENT[,RECEIVED[,CACHED]]`, each of them; an encoder receives nothing.

    Raises:
        click.BadParameter: If one is not.
    """
    from minirag.llm.prices import price_given

    prices = {}
    try:
        for name, _, numbers in (each.rpartition("=") for each in given):
            sent, *others = map(float, numbers.split(","))
            prices[name.strip()] = (sent, *(others or [0.0]))
        price_given("", prices)
    except ValueError as error:
        raise click.BadParameter(f"{error}; as in --price-for openai/mine=0.15,0.60") from error
    if "" in prices:
        raise click.BadParameter("whose price? As in --price-for openai/mine=0.15,0.60")
    _remember(ctx, param, prices)


def prices_by_name() -> dict[str, tuple[float, ...]] | None:
    """What the user said by `--price-for`; None where nothing."""
    given: dict[str, tuple[float, ...]] | None = click.get_current_context().meta.get(_OF_MODELS, {}).get("prices")
    return given


price_for_option = click.option(
    "--price-for",
    "prices",
    multiple=True,
    metavar="NAME=SENT[,RECEIVED]",
    callback=_read_prices,
    expose_value=False,
    help="The same of one model, or of a hosted encoder; may be given several times.",
)


def cost_options(function: Decorated) -> Decorated:
    """`--max-cost`, `--price` and `--price-for`."""
    max_cost = click.option(
        "--max-cost",
        type=DOLLARS,
        metavar="DOLLARS",
        help="Stop before more is spent; what was paid for is kept.",
    )
    price = click.option(
        "--price",
        nargs=2,
        type=DOLLARS,
        metavar="SENT RECEIVED",
        help="What the model costs, in dollars per million tokens [LiteLLM's price map].",
    )
    return max_cost(price(price_for_option(function)))


def strategy_options(function: Decorated) -> Decorated:
    """The options that only some strategies take; `chosen_options` sorts them out. None where they are not given."""
    for option in reversed(_STRATEGY_OPTIONS):
        function = option(function)
    return function


def chosen_options(strategy: str | None, model: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The strategy options that the user gave, of the strategy or of the model's default one.

    Raises:
        click.UsageError: If the strategy does not take one of them.
    """
    chosen = strategy or strategy_for(model)
    return options_by_strategy([chosen], options)[chosen]


def strategy_for(model: str | None) -> str:
    """What is asked by when the user names no strategy: that depends on the model that reads."""
    return default_strategy(str(Models(model, {}, models_by_task()).given_for("read")))


def options_by_strategy(strategies: Iterable[str], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each strategy those of the options that the user gave which it takes.

    Raises:
        click.UsageError: If none of the strategies takes one of them.
    """
    given = {name: value for name, value in options.items() if value is not None}
    taken = {strategy: inspect.signature(STRATEGIES[strategy]).parameters for strategy in strategies}
    for name in given:
        if not any(name in parameters for parameters in taken.values()):
            raise click.UsageError(f"{_spelled(name)} is no option of the strategy {' or '.join(taken)}")
    return {
        strategy: {name: value for name, value in given.items() if name in parameters}
        for strategy, parameters in taken.items()
    }


def _spelled(name: str) -> str:
    """An option as the user types it."""
    params = click.get_current_context().command.params
    return next(param.opts[0] for param in params if param.name == name)


def model_arguments(
    model: str | None, api_base: str | None, price: tuple[float, float] | None = None
) -> dict[str, Any]:
    """What `Index` is told of the model that the user named; offline where none was.

    Raises:
        click.UsageError: If there is an address or a price but no model.
    """
    of_models = dict(click.get_current_context().meta.get(_OF_MODELS, {}))
    prices: dict[str, tuple[float, ...]] = of_models.pop("prices", {})
    if model in (None, OFFLINE) and not models_by_task():
        if api_base is not None:
            raise click.UsageError(f"--api-base needs a --model (or {VARIABLE}) that is called")
        if price is not None:
            raise click.UsageError(
                f"--price needs a --model (or {VARIABLE}) that is called; --price-for NAME=SENT is for an encoder"
            )
        return {"model": OFFLINE, **({"prices": prices} if prices else {})}
    if price is not None:
        priced = [model] if model not in (None, OFFLINE) else models_by_task().values()
        prices = {**dict.fromkeys(priced, price), **prices}
    given = {"api_base": api_base, "prices": prices or None}
    return {"model": model, **{name: value for name, value in given.items() if value is not None}, **of_models}


def note_offline(model: str | None, did: str, *, built_by: str = "") -> None:
    """Say that no model was named, so that nobody takes the rules for an LLM, least for that which built the index."""
    if model is None and not models_by_task():
        others = f" (the index was built by {built_by})" if built_by else ""
        echo_note(
            f"{did} offline, by rules that cost nothing and are weaker than an LLM; name one by --model or {VARIABLE}"
            f"{others}"
        )


def shows_bars(*, quiet: bool) -> bool:
    """Whether progress is shown: where somebody looks at standard error, and has not said otherwise."""
    return not quiet and sys.stderr.isatty()
