"""Build the documentation as a static site: the pages of docs/, the API reference, and search.

Needs no network. The navigation is the list of pages in docs/index.md. A link that leads nowhere
fails the build.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from api_reference import api_pages

ROOT = Path(__file__).resolve().parent.parent
THEME = ROOT / "scripts" / "site_theme"
# Pages outside docs/, and their places in the site.
OTHERS = {
    "AGENTS.md": "project/agents.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "examples/README.md": "examples/index.md",
}
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)")
_HEADING = re.compile(r"^## (.+)$")
_ENTRY = re.compile(r"\[([^\]]+)\]\(([^)#:]+)\)")
CONFIGURATION = """
[project]
site_name = "Handrail"
site_description = "The tool runtime for coding agents"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = {nav}

[project.theme]
custom_dir = {theme}
font = false
features = ["content.code.copy", "navigation.footer", "navigation.top", "search.highlight", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.extra]
generator = false
"""


def main() -> int:
    """Build the site; return 1 if a page or a link is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="handrail-site-") as folder:
        stage = Path(folder)
        write_pages(stage / "pages")
        write_settings(stage)
        program = Path(sys.executable).with_name("zensical")
        environment = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run(
            [program, "build", "--strict"], cwd=stage, env=environment, check=False, timeout=300
        )
        if done.returncode != 0:
            return 1
        shutil.rmtree(options.output, ignore_errors=True)
        options.output.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(stage / "site", options.output)
    print(f"the site is in {options.output}")
    return 0


def write_pages(folder: Path) -> None:
    """Write every page of the site, with its links adjusted."""
    places = page_places()
    for source, place in places.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".py"):
            code = (ROOT / source).read_text(encoding="utf-8")
            path.write_text(f"# {Path(source).name}\n\n```py\n{code}```\n", encoding="utf-8")
        elif source.endswith(".md"):
            text = (ROOT / source).read_text(encoding="utf-8")
            path.write_text(move_links(text, source, places), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, path)
    for name, text in api_pages():
        path = folder / "api" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def page_places() -> dict[str, str]:
    """Return the place of each file of the repository in the site."""
    docs = [path for path in sorted((ROOT / "docs").rglob("*")) if path.is_file()]
    examples = sorted((ROOT / "examples").glob("*.py"))
    places = {path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs") for path in docs}
    found = {source: place.as_posix() for source, place in places.items()}
    found |= {f"examples/{path.name}": f"examples/{path.stem}.md" for path in examples}
    return found | OTHERS


def move_links(text: str, source: str, places: Mapping[str, str]) -> str:
    """Return the text of a page with links to the places of their targets in the site."""
    here = posixpath.dirname(places[source])

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        # An unknown target stays: the build reports it.
        place = places.get(target) or places.get(f"{target}/README.md")
        return match[0] if place is None else match[1] + posixpath.relpath(place, here or ".")

    return _LINK.sub(moved, text)


def navigation(index: str) -> dict[str, dict[str, str]]:
    """Return the sections of the first page, each with the titles and places of the pages that it
    lists.
    """
    sections = {"Handrail": {"Start": "index.md"}}
    for line in index.splitlines():
        if heading := _HEADING.match(line):
            title = heading[1].removeprefix("I want to ").capitalize()
            sections[title] = {}
        else:
            list(sections.values())[-1].update(_ENTRY.findall(line))
    return sections


def write_settings(stage: Path) -> None:
    """Write the settings of the generator."""
    sections = navigation((stage / "pages" / "index.md").read_text(encoding="utf-8"))
    sections["Look something up"]["API reference"] = "api/index.md"
    sections["Look something up"]["handrail.sync"] = "api/sync.md"
    nav = [
        {title: [{name: place} for name, place in pages.items()]}
        for title, pages in sections.items()
    ]
    # A list of tables of strings is written the same way in TOML, except for the colons.
    lines = json.dumps(nav, ensure_ascii=False).replace('": ', '" = ')
    settings = CONFIGURATION.format(nav=lines, theme=json.dumps(THEME.as_posix()))
    (stage / "zensical.toml").write_text(settings, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
