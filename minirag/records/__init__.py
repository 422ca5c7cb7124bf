"""What flows between the parts: small frozen records, and the ledger that adds up what they cost."""

from __future__ import annotations

from minirag.records.answers import Answer, Citation, Evidence, Step
from minirag.records.budget import Budget
from minirag.records.cost import Call, Ledger, Task, Usage, counting, running_ledger
from minirag.records.places import Place
from minirag.records.prompting import (
    THINKING,
    PromptExample,
    Prompts,
    TaskPrompt,
    Thinking,
    fill_template,
)
from minirag.records.reports import AddReport, DeleteReport, Estimate, Failure, ImportReport, IndexInfo
from minirag.records.settings import Settings
from minirag.records.thinking import (
    BridgingFact,
    ContextItem,
    Extension,
    ExtractedFact,
    Extraction,
    Reading,
    SharedEntity,
    SourcedFact,
)
from minirag.records.trace import Search, Trace
from minirag.records.units import KINDS, Bridge, Document, Fact, Hit, Hits, Kind, Passage, Triple

__all__ = [
    "KINDS",
    "THINKING",
    "AddReport",
    "Answer",
    "Bridge",
    "BridgingFact",
    "Budget",
    "Call",
    "Citation",
    "ContextItem",
    "DeleteReport",
    "Document",
    "Estimate",
    "Evidence",
    "Extension",
    "ExtractedFact",
    "Extraction",
    "Fact",
    "Failure",
    "Hit",
    "Hits",
    "ImportReport",
    "IndexInfo",
    "Kind",
    "Ledger",
    "Passage",
    "Place",
    "PromptExample",
    "Prompts",
    "Reading",
    "Search",
    "Settings",
    "SharedEntity",
    "SourcedFact",
    "Step",
    "Task",
    "TaskPrompt",
    "Thinking",
    "Trace",
    "Triple",
    "Usage",
    "counting",
    "fill_template",
    "running_ledger",
]
