"""Request header fields as a browser sends them, and the number of its connections."""

CONNECTIONS = 16
# As Firefox does; its cookies are the site's.
FIELDS = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,*/*;q=0.8",
    "Accept-Language: en-US,en;q=0.5",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Upgrade-Insecure-Requests: 1",
    "Sec-Fetch-Dest: document",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-Site: none",
    "Priority: u=0, i",
)


def header(cookie: str) -> list[str]:
    """The options that `serow bench` sends them with."""
    return [word for field in (*FIELDS, f"Cookie: {cookie}") for word in ("-H", field)]
