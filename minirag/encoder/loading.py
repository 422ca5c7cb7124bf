"""An encoder's folder: what its config.json says, its tokenizer, and its model in onnxruntime."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minirag.errors import EncoderError
from minirag.wording import one_line

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

SHIPPED = Path(__file__).parent.parent / "model"
FILES = ("config.json", "model.onnx", "tokenizer.json")
CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

_HOW = "An encoder is a folder with config.json, model.onnx and tokenizer.json as minirag.training.export writes them"
# More threads only wait for each other: a batch is small (see onnx_encoder.BATCH_TOKENS).
_MOST_THREADS = 8


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """What config.json of an encoder's folder says.

    Attributes:
        name: For people.
        fingerprint: Of all that a vector depends on; the export computes it.
        dimensions: Length of a vector.
        max_tokens: The longest input, special tokens included.
        weights: "float32", or "int8", whose products onnxruntime has for the CPU only.
        query_prefix: Put before each question.
        document_prefix: Put before each text of a document.
    """

    name: str
    fingerprint: str
    dimensions: int
    max_tokens: int
    weights: str = "float32"
    query_prefix: str = ""
    document_prefix: str = ""


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; False also where nobody can tell, as of a name longer than any can be.

    What lies in a folder that may not be looked into is a folder: reading it tells.
    """
    try:
        return path.is_dir()
    except PermissionError:
        return True
    except OSError:
        return False


def read_config(folder: Path) -> EncoderConfig:
    """Read config.json of an encoder's folder.

    Raises:
        EncoderError: If one of the folder's three files is missing, or config.json is not what the export writes.
    """
    try:
        missing = [name for name in FILES if not (folder / name).is_file()]
    except OSError as error:
        raise EncoderError(f"{folder} cannot be read: {error.strerror or error}") from error
    if missing:
        raise EncoderError(f"{folder} lacks {', '.join(missing)}. {_HOW}")
    try:
        values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return EncoderConfig(
            name=str(values["name"]),
            fingerprint=str(values["fingerprint"]),
            dimensions=int(values["dimensions"]),
            max_tokens=int(values["max_tokens"]),
            weights=str(values.get("weights", "float32")),
            query_prefix=str(values.get("query_prefix", "")),
            document_prefix=str(values.get("document_prefix", "")),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderError(f"{folder / 'config.json'} cannot be used ({error!r}). {_HOW}") from error


def load_tokenizer(folder: Path) -> Tokenizer:
    """The folder's tokenizer, neither truncating nor padding.

    Raises:
        EncoderError: If it cannot be read.
    """
    try:
        return read_tokenizer(folder / "tokenizer.json")
    except ValueError as error:
        raise EncoderError(f"{error}. {_HOW}") from error


def read_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer of its file, neither truncating nor padding.

    Raises:
        ValueError: If it is none, or cannot be read.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ValueError(f"{path} cannot be read as a tokenizer: {one_line(str(error))}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def import_onnxruntime() -> Any:  # noqa: ANN401
    """onnxruntime, kept from calling home unless the user's environment decides that.

    Since 1.29 its import starts a thread that sends telemetry, and for which a forked child waits at its end for ever.
    Without effect where onnxruntime was imported before.
    """
    variable = "ORT_DISABLE_TELEMETRY"
    decided = variable in os.environ
    os.environ.setdefault(variable, "1")
    try:
        return importlib.import_module("onnxruntime")
    finally:
        if not decided:
            os.environ.pop(variable, None)


def load_session(
    folder: Path, *, providers: Sequence[str] | None, threads: int | None, prefer_cuda: bool
) -> InferenceSession:
    """The folder's model, ready to run.

    Args:
        folder: An encoder's.
        providers: Where to run it, first choice first; None is CUDA, if preferred and offered, else the CPU.
        threads: For one batch; None is one for each core, up to 8.
        prefer_cuda: Whether all of the model's operators exist for CUDA.

    Raises:
        EncoderError: If onnxruntime does not offer a provider that was asked for, or cannot load the model.
    """
    onnxruntime = import_onnxruntime()
    offered = onnxruntime.get_available_providers()
    if unknown := [name for name in providers or () if name not in offered]:
        raise EncoderError(f"onnxruntime does not offer {', '.join(unknown)} here, only {', '.join(offered)}")
    wanted = list(providers or ([CUDA, CPU] if prefer_cuda and CUDA in offered else [CPU]))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads or min(_MOST_THREADS, _count_cores())
    options.inter_op_num_threads = 1
    # The graph is fused where that pays; what the higher levels would still fuse is slower than its parts.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # Idle threads sleep instead of spinning: on shared or few cores spinning halves the speed.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    path = folder / "model.onnx"
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=wanted)
    except Exception as error:  # onnxruntime's errors have no common ancestor
        raise EncoderError(f"{path} cannot be loaded by onnxruntime ({error}). {_HOW}") from error
    used = session.get_providers()
    if used[0] != wanted[0]:
        warnings.warn(f"{wanted[0]} does not start here, so texts are encoded by {used[0]}", stacklevel=2)
    return session


def keep_for_ever(session: InferenceSession) -> None:
    """Never free a session: in a forked child its end would wait for threads that only the parent has, without end."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))


def _count_cores() -> int:
    """The cores that this process may use, which in a container are often fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
