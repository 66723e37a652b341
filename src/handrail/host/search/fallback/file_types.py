"""The file types that the pure-Python search knows: the most used ones, by ripgrep's names."""

from __future__ import annotations

import re
from typing import Final

from handrail.host.search.globs import expand, pattern

_GLOBS: Final = {
    "c": "*.[chH] *.[chH].in *.cats",
    "cmake": "*.cmake CMakeLists.txt",
    "cpp": "*.{[ChH],[ch]pp,[ch]xx,cc,hh}{,.in} *.inl",
    "cs": "*.cs",
    "csharp": "*.cs",
    "css": "*.css *.scss",
    "csv": "*.csv",
    "dart": "*.dart",
    "docker": "*Dockerfile*",
    "elixir": "*.{eex,ex,exs,heex,leex,livemd}",
    "go": "*.go",
    "graphql": "*.graphql *.graphqls",
    "h": "*.h *.hh *.hpp",
    "haskell": "*.{c2hs,cpphs,hs,hsc,lhs}",
    "html": "*.ejs *.htm *.html",
    "java": "*.{java,jsp,jspx,properties}",
    "js": "*.{cjs,js,jsx,mjs,vue}",
    "json": "*.json *.sarif composer.lock",
    "kotlin": "*.kt *.kts",
    "less": "*.less",
    "log": "*.log",
    "lua": "*.lua",
    "markdown": "*.{markdown,md,mdown,mdwn,mdx,mkd,mkdn}",
    "md": "*.{markdown,md,mdown,mdwn,mdx,mkd,mkdn}",
    "php": "*.{php,php3,php4,php5,php7,php8,pht,phtml}",
    "proto": "*.proto",
    "py": "*.py *.pyi",
    "python": "*.py *.pyi",
    "r": "*.{R,Rmd,Rnw,r,rmd,rnw}",
    "rst": "*.rst",
    "ruby": "*.{gemspec,rake,rb,rbw} .irbrc Gemfile Rakefile config.ru",
    "rust": "*.rs",
    "scala": "*.sbt *.scala",
    "sql": "*.psql *.sql",
    "svelte": "*.svelte *.svelte.ts",
    "swift": "*.swift",
    "toml": "*.toml Cargo.lock",
    "ts": "*.{cts,mts,ts,tsx}",
    "txt": "*.txt",
    "typescript": "*.{cts,mts,ts,tsx}",
    "vue": "*.vue",
    "xml": "*.{dtd,rng,sch,xhtml,xjb,xml,xml.dist,xsd,xsl,xslt}",
    "yaml": "*.yaml *.yml",
    "zig": "*.zig",
}


def type_globs(name: str) -> tuple[str, ...] | None:
    """The globs for base names of that type; None if the type is unknown."""
    globs = _GLOBS.get(name)
    if globs is None:
        return None
    return tuple(one for glob in globs.split(" ") for one in expand(glob))


def type_pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for base names of a type."""
    return re.compile("|".join(map(pattern, globs)), re.DOTALL)


def type_names() -> tuple[str, ...]:
    """The types that are known."""
    return tuple(_GLOBS)
