"""One TLS context for all HTTP clients of the tests: each would read the system's certificates again, 25 ms."""

import ssl

TLS = ssl.create_default_context()
