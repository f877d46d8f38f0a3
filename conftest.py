"""What holds for every test: one arithmetic thread, and no page run by being imported."""

import os
from pathlib import Path

# Two spinning threads on a shared host are ten times slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A page file runs its page when it is imported, so pytest must not look for doctests in it.
collect_ignore = ["app.py", *(str(path) for path in Path(__file__).parent.glob("pages/*.py"))]
