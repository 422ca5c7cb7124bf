"""A section of the README between two marks, and the file of figures that it is written from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from minirag.errors import InputError
from minirag.output import check_file, write_text


@dataclass(frozen=True, slots=True)
class Marks:
    """Two lines that the section stands between."""

    begin: str
    end: str

    def replace(self, readme: str, section: str) -> str:
        """The README with another section between its marks.

        Raises:
            InputError: If it does not have each mark once.
        """
        self.check(readme)
        before, _, rest = readme.partition(self.begin)
        return f"{before}{self.begin}\n\n{section}\n\n{self.end}{rest.partition(self.end)[2]}"

    def check(self, readme: str) -> None:
        """See whether the marks are there.

        Raises:
            InputError: If not each of them is there once, the begin before the end.
        """
        is_there = readme.count(self.begin) == readme.count(self.end) == 1
        if not is_there or readme.index(self.begin) > readme.index(self.end):
            raise InputError(f"the README needs the lines {self.begin!r} and {self.end!r}, each once, in this order")


def write_both(readme: Path, text: str, kept: Path, figures: str | None) -> None:
    """Write the README, and the figures where there are new ones; neither, if one of them cannot be.

    Args:
        readme: The file.
        text: All of it.
        kept: The figures' file.
        figures: All of it; None where it stays.

    Raises:
        OutputError: If a file cannot be written.
    """
    check_file(readme)
    if figures is not None:
        check_file(kept)
        write_text(kept, figures)
    write_text(readme, text)
