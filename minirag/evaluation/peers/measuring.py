"""Each peer in its environment and process, on the same passages and questions; what fails is told, and the next."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from minirag.encoder import SHIPPED, read_config
from minirag.errors import MiniragError
from minirag.evaluation.bench import describe_machine
from minirag.evaluation.datasets import Dataset
from minirag.evaluation.loopback import Loopback
from minirag.evaluation.metrics import gold_ranks, mean, recall_at
from minirag.evaluation.peers.catalog import Peer
from minirag.evaluation.peers.environments import Environment, count_bytes, open_environment
from minirag.evaluation.peers.process import PeerProcess, copy_package
from minirag.evaluation.peers.results import DEPTHS, Comparison, Indexing, PeerResult, Retrieving
from minirag.evaluation.peers.scripted import Scripted


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long anything may take, in seconds: pip, and one request to a peer (indexing, or all questions one way)."""

    install: float = 1800.0
    request: float = 1800.0


def compare_peers(
    peers: Sequence[Peer],
    corpora: Sequence[Dataset],
    cache: Path,
    *,
    bounds: Bounds = Bounds(),
    progress: bool = True,
) -> Comparison:
    """Measure peers; those that call an LLM on the last corpus only.

    Args:
        peers: Which.
        corpora: Parts of one data set with gold passages, at least one, the smallest last.
        cache: The folder of their environments, which are made where they are missing.
        bounds: How long anything may take.
        progress: Show how far it is, where standard error is a terminal.
    """
    planned = [(peer, corpus) for corpus in corpora for peer in peers if corpus is corpora[-1] or not peer.thinks]
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        package = copy_package(Path(scratch))
        for number, (peer, corpus) in enumerate(tqdm(planned, desc="peers", disable=None if progress else True)):
            folder = Path(scratch) / f"peer{number}"
            folder.mkdir()
            results.append(measure_peer(peer, corpus, cache, folder, package=package, bounds=bounds))
    return Comparison(corpora[0].name, read_config(SHIPPED).name, describe_machine(), tuple(results))


def measure_peer(
    peer: Peer, corpus: Dataset, cache: Path, folder: Path, *, package: Path, bounds: Bounds
) -> PeerResult:
    """One peer on one corpus; what fails ends up in the result's reason."""
    result = PeerResult(peer.name, len(corpus.documents), len(corpus.questions))
    try:
        environment = open_environment(peer, cache, timeout=bounds.install)
    except MiniragError as error:
        return replace(result, reason=str(error))
    result = replace(result, version=environment.version, install_bytes=environment.install_bytes)
    return _run(peer, corpus, result, environment, folder, package=package, bounds=bounds)


def _run(
    peer: Peer,
    corpus: Dataset,
    result: PeerResult,
    environment: Environment,
    folder: Path,
    *,
    package: Path,
    bounds: Bounds,
) -> PeerResult:
    script = Scripted()
    with (
        Loopback(script) as server,
        PeerProcess(
            environment.python,
            peer.runner,
            folder,
            package=package,
            api_base=server.api_base if peer.thinks else "",
            timeout=bounds.request,
        ) as process,
    ):
        result = _ask(process, corpus, result, script)
    result = replace(result, cost=script.cost)
    if result.indexing is None:
        return result
    return replace(result, indexing=replace(result.indexing, bytes=count_bytes(folder)))


def _ask(process: PeerProcess, corpus: Dataset, result: PeerResult, script: Scripted) -> PeerResult:
    """Index, then every way of retrieving; what was measured before a failure is kept."""
    try:
        reply = process.ask({"documents": [[each.id, each.text, each.title] for each in corpus.documents]})
        indexing = Indexing(reply["seconds"], reply["encoding_seconds"], script.cost, bytes=0)
        result = replace(result, indexing=indexing, peak_bytes=reply["peak_bytes"])
        for way in reply["ways"]:
            before = script.cost
            texts = [question.text for question in corpus.questions]
            found = process.ask({"way": way, "questions": texts, "k": max(DEPTHS)})
            calls = (script.cost - before).calls / (len(texts) + 1)
            retrieving = Retrieving(way, found["seconds"], calls, _recall(found["rankings"], corpus))
            result = replace(result, retrieving=(*result.retrieving, retrieving), peak_bytes=found["peak_bytes"])
    except MiniragError as error:
        return replace(result, reason=str(error))
    return result


def _recall(rankings: Sequence[Sequence[str]], corpus: Dataset) -> dict[str, float]:
    pairs = zip(rankings, corpus.questions, strict=True)
    ranks = [gold_ranks(ranking, question.gold_ids) for ranking, question in pairs]
    return {str(k): mean(recall_at(each, k) for each in ranks) for k in DEPTHS}
