"""Names: finding them in texts of any script, and comparing them."""
