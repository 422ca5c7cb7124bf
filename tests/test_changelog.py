import re
from pathlib import Path

import minirag

CHANGELOG = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_top_version_is_the_package_s() -> None:
    versions = re.findall(r"^## \[([\d.]+)\]", CHANGELOG, flags=re.MULTILINE)
    assert versions[0] == minirag.__version__
