"""main.py FILE.py[:NAME]: answers what engine/reference.c asks of a reference, through the socket 3."""
import os
import sys

sys.path[0] = os.path.dirname(os.path.abspath(__file__))
from assay_reference import server  # noqa: E402

sys.path.pop(0)
sys.exit(server.main(sys.argv[1]))
