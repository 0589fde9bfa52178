"""A tab of Chromium."""

from __future__ import annotations

from .chromium import Browser


class Tab:
    def __init__(self, browser: Browser, domains: tuple[str, ...], url: str = "about:blank", context: str | None = None) -> None:
        """Opens a page, in this browser context or the common one, with events of these domains."""
        self.browser = browser
        options = {"browserContextId": context} if context else {}
        target = browser.call("Target.createTarget", url=url, **options)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in domains:
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters) -> dict:
        return self.browser.call(method, self.session, **parameters)

    def value(self, expression: str):
        """The value of a JavaScript expression, or the one that its promise is fulfilled with."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["text"])
        return result["result"].get("value")
