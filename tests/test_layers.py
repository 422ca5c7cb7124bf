"""The layers of the design: a module imports only from the rows below its own, and importing minirag stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import minirag

ROOT = Path(minirag.__file__).parent

# From the top down. A package stands for all of its modules, which may import each other.
ROWS = [
    {"minirag.__main__"},
    {"minirag.cli", "minirag.examples"},
    {"minirag"},
    {"minirag.evaluation", "minirag.training", "minirag.adapters"},
    {"minirag.answering"},
    {"minirag.asking"},
    {"minirag.strategies", "minirag.streaming"},
    {"minirag.index", "minirag.importing"},
    {"minirag.reading"},
    {"minirag.opening"},
    {"minirag.building", "minirag.estimating", "minirag.repairing", "minirag.reembedding", "minirag.sharing"},
    {"minirag.drawing", "minirag.exporting", "minirag.deriving"},
    {
        "minirag.doubting",
        "minirag.following",
        "minirag.retrieving",
        "minirag.bridging",
        "minirag.embedding",
    },
    {"minirag.planning", "minirag.pruning"},
    {
        "minirag.extraction",
        "minirag.splitting",
        "minirag.ranking",
        "minirag.loading",
        "minirag.models",
        "minirag.prompting",
    },
    {"minirag.reasoner"},
    {"minirag.encoder"},
    {"minirag.llm", "minirag.storage", "minirag.loop", "minirag.progress"},
    {"minirag.demo", "minirag.naming", "minirag.telemetry", "minirag.datasets", "minirag.filtering"},
    {"minirag.records"},
    {"minirag.pages"},
    {"minirag.showing", "minirag.output", "minirag.telling"},
    {"minirag.errors", "minirag.json_values", "minirag.ending"},
    {"minirag.wording", "minirag.redacting", "minirag.version"},
]
ROW_OF = {name: number for number, row in enumerate(ROWS) for name in row}


def unit_of(module: str) -> str:
    """The name in ROWS that stands for a module."""
    parts = module.split(".")
    name = ".".join(parts[:2])
    return name if name in ROW_OF else parts[0]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    """All minirag modules that a file imports, those for type checking and those inside functions included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in names if unit_of(name) != "minirag"} or {node.module}
    return {name for name in found if name.split(".")[0] == "minirag"}


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_point_downwards(path: Path) -> None:
    own = unit_of(module_name(path))
    upward = {name for name in imports_of(path) if unit_of(name) != own and ROW_OF[unit_of(name)] <= ROW_OF[own]}
    assert upward == set()


def test_every_module_has_its_row() -> None:
    tops = {path.stem if path.is_file() else path.name for path in ROOT.iterdir() if _is_module(path)}
    assert {f"minirag.{name}" for name in tops - {"__init__"}} <= set(ROW_OF)


def _is_module(path: Path) -> bool:
    return path.suffix == ".py" or (path / "__init__.py").exists()


def test_no_module_has_an_empty_name() -> None:
    forbidden = {"utils", "helpers", "common", "base", "manager"}
    assert [path for path in MODULES if path.stem in forbidden] == []


def test_importing_minirag_loads_nothing_heavy() -> None:
    heavy = ["litellm", "openai", "onnxruntime", "torch", "usearch", "tokenizers", "pydantic", "tqdm", "bm25s"]
    code = f"import sys; from minirag import Index, ask; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
