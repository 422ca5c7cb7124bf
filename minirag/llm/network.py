"""What the environment says of the way to a server: certificates and proxies, looked at as the openai client does."""

from __future__ import annotations

import os
import ssl
from importlib.util import find_spec
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_CERTIFICATES = "SSL_CERT_FILE"
_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")


def environment_problem() -> str | None:
    """Why no client can be opened here at all, and what to do; None where one can."""
    return _certificates_problem() or next(filter(None, map(_proxy_problem, sorted(_proxies().items()))), None)


def find_proxy(address: str) -> str | None:
    """The proxy through which an address ("" for a provider's own) is called: host and port, and who names it."""
    try:
        parts = urlsplit(address or "https:")
    except ValueError:  # of the environment: the call will say so
        return None
    proxies = _proxies()
    name = next((name for name in (f"{parts.scheme}_proxy", "all_proxy") if name in proxies), None)
    if name is None or (parts.hostname and proxy_bypass(parts.hostname)):
        return None
    return f"{_host(proxies[name])} ({name.upper()})"


def _proxies() -> dict[str, str]:
    """By the names of their variables, in small letters."""
    found = {f"{kind}_proxy": url for kind, url in getproxies().items() if kind in ("http", "https", "all") and url}
    return {name: url if "://" in url else f"http://{url}" for name, url in found.items()}


def _host(proxy: str) -> str:
    """Without user and password."""
    try:
        return urlsplit(proxy).netloc.rpartition("@")[2]
    except ValueError:
        return "that is no address"


def _certificates_problem() -> str | None:
    path = os.environ.get(_CERTIFICATES)
    if not path:
        return None
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        reason = (
            "is no file of certificates" if isinstance(error, ssl.SSLError) else f"cannot be read: {error.strerror}"
        )
        return f"{path}, which {_CERTIFICATES} names, {reason}. Set it to a file of certificates (PEM), or unset it"
    return None


def _proxy_problem(named: tuple[str, str]) -> str | None:
    name, proxy = named[0].upper(), named[1]
    scheme = proxy.partition("://")[0].lower()
    if scheme not in _PROXY_SCHEMES:
        known = ", ".join(_PROXY_SCHEMES)
        return f"{name} names the proxy {_host(proxy)} by {scheme}://, which cannot be spoken: take one of {known}"
    if scheme.startswith("socks") and find_spec("socksio") is None:
        return f"{name} names the proxy {_host(proxy)} by {scheme}://, for which a package lacks: pip install socksio"
    try:
        is_address = urlsplit(proxy).port != 0
    except ValueError:
        is_address = False
    return None if is_address else f"{name} names a proxy by what is no address, such as http://127.0.0.1:3128"
