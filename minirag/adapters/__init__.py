"""minirag in other frameworks' own types, one module each; importing one needs the extra of its name."""
