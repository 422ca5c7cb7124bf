"""Questions with what is right, read from the files that data sets are published as."""

from minirag.datasets.examples import ContextPassage, Example, SubQuestion
from minirag.datasets.reading import read_examples

__all__ = ["ContextPassage", "Example", "SubQuestion", "read_examples"]
