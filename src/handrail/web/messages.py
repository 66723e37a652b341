"""The wording of problems with requests and pages."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

REFUSED: Final = ProblemTemplate(
    "denied",
    "{url!r} cannot be requested: {reason}",
    hint="use a public URL; the user may allow a host of this network with the setting web.allow",
)
NOT_REACHED: Final = ProblemTemplate(
    "unavailable",
    "{host!r} did not answer: {reason}",
    hint="try again later, or use another source",
    retryable=True,
)
TOO_SLOW: Final = ProblemTemplate(
    "timeout",
    "{host!r} sent nothing within {seconds:g} s",
    hint="try again later, or use another source",
    retryable=True,
)
NOTHING_CAME: Final = ProblemTemplate(
    "unavailable",
    "{host!r} sent nothing of the page: {came} is empty",
    hint="try again later, or use another source",
    retryable=True,
)
TOO_MANY_REDIRECTS: Final = ProblemTemplate(
    "unavailable", "{url!r} was redirected more than {count} times"
)
UNKNOWN_ENCODING: Final = ProblemTemplate(
    "unavailable", "{host!r} answered in the encoding {encoding!r}, which was not asked for"
)
EXTRA_MISSING: Final = ProblemTemplate(
    "unavailable",
    "{what} needs the package {package}, which is not installed",
    hint='pip install "handrail[{extra}]"',
)
NOT_TEXT: Final = ProblemTemplate(
    "not_text",
    "{url!r} is not a page of text but {media_type} ({size} bytes)",
    hint="ask for a page of text",
)
NOT_CONVERTED: Final = ProblemTemplate(
    "unavailable",
    "the page cannot be turned into text (converter: {reason})",
    hint="use another source",
)
SEARCH_FAILED: Final = ProblemTemplate(
    "unavailable",
    "the search with {engine} failed: {reason}",
    hint="try again later, or set another search engine with the setting web.search",
    retryable=True,
)
UNKNOWN_SEARCH: Final = ProblemTemplate(
    "invalid_arguments",
    "web.search is {given!r}, which is not a search engine",
    hint='use "duckduckgo", "ddgs" or the URL of a SearXNG server',
)
MODEL_FAILED: Final = ProblemTemplate(
    "unavailable",
    "the small model {model} did not answer the prompt: {reason}",
    hint="fetch the page without a prompt",
    retryable=True,
)
NO_BROWSER: Final = ProblemTemplate(
    "unavailable",
    "screenshot needs the program chromium-headless-shell, which was not found outside of the workspace"
    " and of directories that everybody may write",
    hint="install it (Debian: apt-get install chromium-headless-shell), or set web.browser to its path",
)
BROWSER_NOT_CONFINED: Final = ProblemTemplate(
    "unavailable",
    "screenshot needs a sandbox that keeps the browser from the network, and there is none here",
    hint='run "handrail doctor"',
)
BROWSER_FAILED: Final = ProblemTemplate(
    "unavailable", "the browser did not show {url!r}: {reason}", retryable=True
)
BROWSER_TOO_SLOW: Final = ProblemTemplate(
    "timeout",
    "the browser did not show {url!r} within {seconds:g} s",
    hint="the page may never come to rest: read it with {tool_name[web_fetch]}, or try again later",
    retryable=True,
)
UNUSUAL_PORT: Final = ProblemTemplate(
    "denied",
    "screenshot reaches the ports 80 and 443; {authority!r} must be in the setting web.allow",
    hint="the user may add it",
)
