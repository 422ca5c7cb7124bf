"""How good and how fast: data sets, metrics, runs over them, and the bench."""
