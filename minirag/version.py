"""The release: told here once, for the package, what it writes of itself, and the build."""

__version__ = "0.5.0"
