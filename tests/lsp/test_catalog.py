"""Which language server is used for a file."""

import pytest

from handrail.lsp.catalog import KNOWN, ServerCatalog, ServerSpec, language_id

OWN = ServerSpec("own", ("/opt/own",), {".py": "python", "Makefile": "make"}, configured=True)


def catalog(*installed, configured=(), **options):
    return ServerCatalog(
        lambda name: f"/bin/{name}" if name in installed else None, configured, **options
    )


@pytest.mark.parametrize(
    ("installed", "path", "name"),
    [
        (["ty", "basedpyright-langserver"], "/w/a.py", "ty"),
        (["basedpyright-langserver"], "/w/a.PYI", "basedpyright"),
        (["tsc"], "/w/a.tsx", "typescript"),
        (["clangd"], "/w/a.hpp", "clangd"),
        ([], "/w/a.py", None),
        (["gopls"], "/w/a.go", None),
        (["ty"], "/w/a.txt", None),
        (["ty"], "/w/py", None),
    ],
)
def test_the_first_installed_server_is_used(installed, path, name):
    found = catalog(*installed).for_file(path)

    assert (found.spec.name if found.path else None) == name
    assert bool(found.reason) is (name is None)


def test_servers_of_the_settings_come_first_and_replace_known_ones():
    one = catalog("ty", configured=[OWN])
    assert one.for_file("/w/a.py").path == "/opt/own"
    assert one.for_file("/w/Makefile").path == "/opt/own"
    assert one.all()[0].spec.name == "own"
    go = ServerSpec("gopls", ("gopls",), {".go": "go"}, runs_project=True, configured=True)
    replaced = catalog("gopls", configured=[go])

    assert replaced.for_file("/w/a.go").path == "/bin/gopls"
    assert len(replaced.all()) == len(KNOWN)


def test_only_servers_of_the_settings_may_be_wanted():
    one = catalog("ty", configured=[OWN._replace(languages={".x": "x"})], only_configured=True)

    assert one.for_file("/w/a.py").path is None
    assert one.for_file("/w/a.x").path == "/opt/own"


def test_every_reason_is_told_and_programs_are_searched_once():
    asked = []
    one = ServerCatalog(asked.append)
    reason = one.for_file("/w/a.py").reason

    assert "ty" in reason
    assert "basedpyright" in reason
    one.for_file("/w/b.py")
    assert asked == ["ty", "basedpyright-langserver"]


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("/w/a.py", "python"),
        ("/w/A.PY", "python"),
        ("/w/Makefile", "make"),
        ("/w.py/a", "plaintext"),
    ],
)
def test_the_language_of_a_file(path, language):
    assert language_id(OWN, path) == language
