"""What a filter leaves to be seen: documents that pass, and what was derived from these alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.storage.columns import keys_by_row
from minirag.storage.segment import Segment
from minirag.storage.tables import hash_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Keys = NDArray[np.uint64]


def see_through(
    segments: Sequence[Segment],
    passes: Callable[[Mapping[str, Any]], bool],
    *,
    by_rules: bool,
    group: Callable[[Mapping[str, Any]], str],
) -> tuple[Segment, ...]:
    """The segments with only those of their valid rows that a filter leaves visible.

    A bridging fact stays visible when every document behind it passes. Of one that a model wrote these are all
    documents of the group that name its entity, as the model saw them all, and may have used more than it said.

    Args:
        segments: Of a snapshot.
        passes: Tells by a document's metadata whether it does.
        by_rules: Whether no model wrote any bridging fact: rules use no more than the sources that they give.
        group: Tells which documents are bridged with each other, by their metadata.

    Returns:
        The segments themselves where all documents pass.
    """
    passing = [_passing(segment, passes) for segment in segments]
    valid = [_or_all(segment, "documents") for segment in segments]
    seen = [p & v for p, v in zip(passing, valid, strict=True)]
    hidden = [~p & v for p, v in zip(passing, valid, strict=True)]
    if not any(mask.any() for mask in hidden):
        return tuple(segments)
    bridges = _visible_bridges(segments, seen, hidden)
    if not by_rules:
        groups = [_groups(segment, group) for segment in segments]
        named = _names_in(segments, hidden, groups)
        of = _entities(segments, seen, groups)
        bridges = [mask & ~np.isin(entities, named) for mask, entities in zip(bridges, of, strict=True)]
    return tuple(segment.with_only(*masks) for segment, *masks in zip(segments, seen, bridges, strict=True))


def _passing(segment: Segment, passes: Callable[[Mapping[str, Any]], bool]) -> Mask:
    distinct, place = segment.metadata
    return np.array([passes(metadata) for metadata in distinct], bool)[place]


def _or_all(segment: Segment, name: str) -> Mask:
    valid = segment.alive(name)
    return np.ones(segment.count(name), bool) if valid is None else valid


def _visible_bridges(segments: Sequence[Segment], seen: Sequence[Mask], hidden: Sequence[Mask]) -> list[Mask]:
    """Those whose sources all pass. Ids are compared by hashes: one that a hidden document has, too, fails."""
    passing, others = _hashes(segments, seen), _hashes(segments, hidden)
    found = []
    for segment in segments:
        starts, documents = segment.bridge_sources
        fails = ~np.isin(documents, passing) | np.isin(documents, others)
        failed = np.concatenate([[0], np.cumsum(fails)])[starts.astype(np.int64)]
        found.append(_or_all(segment, "bridges") & (np.diff(failed) == 0) & (np.diff(starts) > 0))
    return found


def _hashes(segments: Sequence[Segment], masks: Sequence[Mask]) -> Keys:
    """Of the ids of some documents."""
    parts = [segment.document_hashes[mask] for segment, mask in zip(segments, masks, strict=True)]
    return np.unique(np.concatenate(parts))


def _groups(segment: Segment, group: Callable[[Mapping[str, Any]], str]) -> Keys:
    """The hash of each document's group, `(documents,)`."""
    distinct, place = segment.metadata
    return hash_keys(map(group, distinct))[place]


def _names_in(segments: Sequence[Segment], documents: Sequence[Mask], groups: Sequence[Keys]) -> Keys:
    """All names in the facts of some documents, each joined with the group in which it stands."""
    parts = []
    for segment, mask, group in zip(segments, documents, groups, strict=True):
        named = segment.facts_by_entity
        owners = segment.document_of_passage[segment.passage_of_fact[named.rows]]
        kept = mask[owners]
        parts.append(np.unique(np.repeat(named.keys, named.sizes)[kept] ^ group[owners[kept]]))
    return np.unique(np.concatenate(parts))


def _entities(segments: Sequence[Segment], seen: Sequence[Mask], groups: Sequence[Keys]) -> list[Keys]:
    """Of each bridging fact the name that it is about, joined with the group of its first document."""
    hashes = np.concatenate([segment.document_hashes[mask] for segment, mask in zip(segments, seen, strict=True)])
    values = np.concatenate([group[mask] for group, mask in zip(groups, seen, strict=True)])
    order = np.argsort(hashes)
    found = []
    for segment in segments:
        starts, documents = segment.bridge_sources
        entities = keys_by_row(segment.bridges_by_entity, segment.count("bridges"))
        if len(hashes) and len(documents):
            first = documents[np.minimum(starts[:-1], len(documents) - 1)]
            places = np.minimum(np.searchsorted(hashes[order], first), len(hashes) - 1)
            entities ^= values[order][places]  # that of a hidden document means nothing: the fact is hidden, too
        found.append(entities)
    return found
