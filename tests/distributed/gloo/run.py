"""Writes to the file of the first argument what the programs show on PyTorch's gloo backend."""

import sys
import tempfile

try:
    import torch
    import torch.distributed
except ImportError as error:
    with open(sys.argv[1], "w") as out:
        out.write("absent: %s\n" % error)
    sys.exit(0)

import blocks  # noqa: F401
import collectives  # noqa: F401
import groups  # noqa: F401
import harness
import hanging  # noqa: F401
import lifecycle  # noqa: F401
import objects  # noqa: F401
import transfers  # noqa: F401

with tempfile.TemporaryDirectory() as folder, open(sys.argv[1], "w") as out:
    out.write("PyTorch %s\n" % torch.__version__)
    harness.run_all(folder, out)
