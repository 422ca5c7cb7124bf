"""The bench's yardstick: a process that loads an encoder and encodes one text, and knows nothing of minirag.

Run as a file, `python plain_encoding.py FOLDER TEXT`, not as a module, which would import the package around it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def encode(folder: Path, text: str) -> int:
    """Encode one text with the encoder in the folder, by onnxruntime and tokenizers as they come; gives its length."""
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
    (vectors,) = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    return int(np.asarray(vectors).shape[1])


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"dimensions": encode(Path(sys.argv[1]), sys.argv[2])}) + "\n")
    sys.stdout.flush()
