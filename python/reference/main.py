"""main.py FILE.py[:NAME]: answers the questions of engine/reference.c to a reference, through the socket 3."""
import os
import sys

sys.path[0] = os.path.dirname(os.path.abspath(__file__))
try:
    from assay_reference import server
except ImportError as error:
    import socket

    socket.socket(fileno=3).send(f"bad {error}; a reference needs NumPy: is {sys.executable} the right one?".encode())
    sys.exit(1)
sys.path.pop(0)
sys.exit(server.main(sys.argv[1]))
