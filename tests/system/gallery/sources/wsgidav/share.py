"""Two folders, one of them with a password."""

import os

from wsgidav.wsgidav_app import WsgiDAVApp

for name in ("public", "private"):
    os.makedirs(name, exist_ok=True)
app = WsgiDAVApp({
    "provider_mapping": {f"/{name}": {"root": os.path.abspath(name), "readonly": False} for name in ("public", "private")},
    "simple_dc": {"user_mapping": {"/public": True, "/private": {"ann": {"password": "secret"}}}},
    "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False}, "verbose": 1,
})
