"""What a user would pick instead, measured on the same corpus: word search, vector stores, graph RAG libraries.

`python -m minirag.evaluation.peers DATASET --json OUT` measures; see its `--help`. Each peer lives in a virtual
environment of its own, since some claim the same import name or exclude each other's dependencies.
"""
