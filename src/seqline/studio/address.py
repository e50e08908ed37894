"""The address of the live page: taken before anything slow is loaded, so that a port in use is said at once."""

from __future__ import annotations

import socket

from seqline.errors import UserError


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes any free one.

    Raises:
        UserError: the port is taken, or the address is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(64)  # so that the address may be opened as soon as it is printed
    except OSError as error:
        bound.close()
        what = f"cannot listen at {host} port {port}: {error.strerror or error}"
        raise UserError(what, where="--port", fix="choose another port; 0 takes any free one") from error
    return bound
