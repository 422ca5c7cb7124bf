"""Packs `lambda_function.py`, minirag and an index into a zip that AWS Lambda takes: at most 250 MB unzipped.

python -m minirag.examples.build_lambda notes.usearch function.zip
python -m minirag.examples.build_lambda notes.usearch function.zip --python 3.12 --platform manylinux_2_28_x86_64

The handler is `lambda_function.handler`. LiteLLM, which alone takes 200 MB, is left out, usearch is taken in a release
that does without numkong, and what only indexing or tools need is taken out.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import requires
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import minirag

LARGEST = 262_144_000  # bytes unzipped: what Lambda allows
LEFT_OUT = ("litellm", "semantic-text-splitter")  # the latter only indexes
PINNED = {"usearch": "usearch==2.23.0"}
NEVER_LOADED = (
    "hf_xet",
    "bin",
    "onnxruntime/transformers",
    "onnxruntime/quantization",
    "onnxruntime/tools",
    "numpy/**/tests",
)
UNNEEDED = shutil.ignore_patterns("__pycache__", "examples", "evaluation", "training", "demo", "adapters")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the package; the exit code is 1 if it is too large."""
    parser = argparse.ArgumentParser(
        prog="build_lambda", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("index", type=Path, help="the index that the function answers from")
    parser.add_argument("package", type=Path, help="the zip to write")
    parser.add_argument("--python", help="the function's version, such as 3.12 [this one]")
    parser.add_argument("--platform", help="as pip has it, such as manylinux_2_28_aarch64 [this one]")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install(folder, python=options.python, platform=options.platform)
        fill(folder, options.index)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"{size / 1e6:,.0f} MB unzipped, {LARGEST / 1e6:,.0f} are allowed")  # noqa: T201
        if size > LARGEST:
            print(f"too large: the index takes {options.index.stat().st_size / 1e6:,.0f} MB; fetch it from S3 instead")  # noqa: T201
            return 1
        pack(folder, options.package)
    print(f"{options.package}: {options.package.stat().st_size / 1e6:,.0f} MB")  # noqa: T201
    return 0


def install(folder: Path, *, python: str | None, platform: str | None) -> None:
    """All that minirag needs, except what the function does without."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(folder)]
    for option, value in (("--python-version", python), ("--platform", platform)):
        command += [option, value, "--only-binary=:all:"] if value else []
    subprocess.run([*command, *needed()], check=True)


def needed() -> list[str]:
    """The requirements of the installed minirag, without extras."""
    found = []
    for requirement in requires("minirag") or ():
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()
        if "extra ==" not in requirement and name not in LEFT_OUT:
            found.append(PINNED.get(name, requirement))
    return found


def fill(folder: Path, index: Path) -> None:
    """Minirag itself, the function, and its index."""
    home = Path(minirag.__file__).parent
    shutil.copytree(home, folder / "minirag", ignore=UNNEEDED)
    shutil.copy(home / "examples" / "lambda_function.py", folder)
    shutil.copy(index, folder / "notes.usearch")
    for pattern in (*NEVER_LOADED, "**/__pycache__"):
        for unneeded in list(folder.glob(pattern)):
            shutil.rmtree(unneeded, ignore_errors=True)


def pack(folder: Path, package: Path) -> None:
    """Everything in the folder, compressed."""
    with ZipFile(package, "w", ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))


if __name__ == "__main__":
    sys.exit(main())
