"""Start a process of a server of `_forks` by a command: ``python _fork_client.py SOCKET ...``."""

import json
import os
import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
job = {"command": sys.argv[2:], "cwd": os.getcwd(), "environment": dict(os.environ), "limit": 300}  # noqa: PTH109
socket.send_fds(connection, [b"x"], [0, 1, 2])
connection.sendall(json.dumps(job).encode() + b"\n")
said = b""
while said.count(b"\n") < 2:  # when it is killed, its connection ends, and with that the process
    more = connection.recv(100)
    if not more:
        sys.exit(1)
    said += more
for number in (0, 1, 2):
    os.close(number)
os._exit(int(said.split()[1]) % 256)
