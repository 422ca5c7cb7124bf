"""`python -m minirag`: the command line."""

from minirag.cli import main

main()
