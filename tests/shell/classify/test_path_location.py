"""Where the paths of arguments lead, and the machines that arguments name."""

import posixpath

import pytest
from tests.support.verdicts import ROOT, WHERE

from handrail.core.commands import CommandClass
from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.effects import EffectCollector, collect_first_host, collect_hosts
from handrail.shell.classify.path_location import (
    is_inside,
    is_public,
    locate_path,
    readable_stream,
)

LINKS = {f"{ROOT}/out": "/etc", f"{ROOT}/in": f"{ROOT}/src"}


def resolve(path):
    path = posixpath.normpath(path)
    for link, target in LINKS.items():
        if path == link or path.startswith(f"{link}/"):
            return target + path[len(link) :]
    return path


LINKED = WHERE._replace(resolve=resolve)


def locate(text, cwd=ROOT, *, follow=True, **more):
    return locate_path(Argument(text, text or "", **more), cwd, LINKED, follow=follow)


@pytest.mark.parametrize(
    ("text", "paths", "trusted"),
    [
        ("a", ["@/a"], True),
        ("./a/../b", ["@/b"], True),
        ("a/", ["@/a"], True),
        (".", ["@"], True),
        (ROOT, ["@"], True),
        ("..", ["/srv/projects"], False),
        ("/etc/x", ["/etc/x"], False),
        ("/", ["/"], False),
        ("in/a", ["@/in/a", "@/src/a"], True),
        ("out/a", ["@/out/a", "/etc/a"], False),
        ("out", ["@/out", "/etc"], False),
        ("/proc/1/x", ["/proc/1/x"], False),
        ("/sys", ["/sys"], False),
        ("/system", ["/system"], False),
        (f"{ROOT}x", [f"{ROOT}x"], False),
    ],
)
def test_where_a_path_leads(text, paths, trusted):
    place = locate(text)

    assert list(place.paths) == [one.replace("@", ROOT) for one in paths]
    assert (place.objection == "") is trusted


def test_a_link_at_the_end_is_followed_if_asked():
    assert locate("out", follow=False).objection == ""
    assert locate("out/", follow=False).objection != ""
    assert locate("out/.", follow=False).objection != ""
    assert locate("out/a", follow=False).objection != ""
    assert locate("out/*", follow=False, glob=True).objection != ""


@pytest.mark.parametrize(
    ("text", "root"),
    [
        (".", True),
        ("*", True),
        ("./*", True),
        ("a", False),
        ("*.py", False),
        ("a/*", False),
        ("*/*", False),
    ],
)
def test_a_root_of_the_workspace(text, root):
    assert locate(text, glob="*" in text).is_root is root


@pytest.mark.parametrize("text", ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/fd/2", ""])
def test_streams_are_no_files(text):
    place = locate(text)

    assert (place.is_stream, place.paths) == (True, ())


def test_globs_stay_globs():
    assert locate("src/*.py", glob=True).paths == (f"{ROOT}/src/*.py",)
    assert locate("in/*/a?", glob=True).paths == (f"{ROOT}/in/*/a?", f"{ROOT}/src/*/a?")
    assert locate("*", glob=False).paths == (f"{ROOT}/*",)
    assert locate(".*", glob=True).paths == ()
    assert locate("*/..", glob=True).paths == ()
    assert locate(".?", glob=True).objection != ""
    assert locate(".?x", glob=True).objection == ""


@pytest.mark.parametrize(
    ("text", "more"),
    [(None, {}), ("a\0b", {}), ("~other/a", {"tilde": True})],
)
def test_paths_that_are_not_known(text, more):
    place = locate(text, **more)

    assert (place.paths, bool(place.objection)) == ((), True)


def test_the_home_directory_and_an_unknown_one():
    assert locate("~/a", tilde=True).paths == ("/srv/u/a",)
    assert locate("~", tilde=True).paths == ("/srv/u",)
    assert locate("~/a").paths == (f"{ROOT}/~/a",)
    assert locate("a", None).paths == ()
    assert locate("/etc/a", None).paths == ("/etc/a",)


@pytest.mark.parametrize(
    ("path", "roots", "inside"),
    [
        ("/a", ("/a",), True),
        ("/a/b", ("/a",), True),
        ("/ab", ("/a",), False),
        ("/b", ("/a", "/b"), True),
        ("/b", ("/",), True),
        ("/b", (), False),
    ],
)
def test_what_is_inside_a_root(path, roots, inside):
    assert is_inside(path, roots) is inside


def test_what_everybody_may_read():
    assert is_public(locate("/usr/share/doc/x"))
    assert is_public(locate("/usr/bin"), listed=True)
    assert not is_public(locate("/usr/bin/x"))
    assert not is_public(locate("/etc/x"), listed=True)
    assert not is_public(locate(None))
    assert readable_stream("/dev/null")
    assert not readable_stream("/dev/tty")


def hosts(program, *texts, strict=False):
    collector = EffectCollector()
    arguments = [Argument(text, text) for text in texts]
    collect_hosts(arguments, collector, program=program, strict=strict)
    return list(collector.effects().hosts)


@pytest.mark.parametrize(
    ("program", "texts", "found"),
    [
        ("curl", ["https://X.example/a"], ["x.example"]),
        ("curl", ["https://u:p@x.example:80"], ["x.example"]),
        ("curl", ["http://[::1]:80/a"], ["::1"]),
        ("curl", ["x.example"], ["x.example"]),
        ("curl", ["x.example/a/b"], ["x.example"]),
        ("curl", ["localhost:80"], ["localhost"]),
        ("curl", ["-o", "a.txt", "x.example"], ["x.example"]),
        ("curl", ["-sSo", "a.txt", "x.example"], ["x.example"]),
        ("curl", ["--output", "a.txt"], []),
        ("curl", ["--other", "a.txt"], ["a.txt"]),
        ("curl", ["-x.example"], []),
        ("curl", ["word"], []),
        ("scp", ["a", "x:b"], ["x"]),
        ("scp", ["u@x.example:b", "a.txt"], ["x.example"]),
        ("scp", ["./a:b"], []),
        ("ping", ["x.example"], ["x.example"]),
        ("ping", ["a/x.example"], []),
        ("ping", ["x"], []),
        ("ping", ["localhost"], ["localhost"]),
    ],
)
def test_machines_that_arguments_name(program, texts, found):
    assert hosts(program, *texts) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://x.example", ["x.example"]),
        ("u@x.example", ["x.example"]),
        ("u@x.example:a", ["x.example"]),
        ("x.example:a", ["x.example"]),
        ("1.2.3.4:a", ["1.2.3.4"]),
        ("x.example", []),
        ("a.py", []),
        ("localhost", []),
    ],
)
def test_other_programs_name_complete_addresses(text, found):
    assert hosts("", text, strict=True) == found


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["x"], ["x"]),
        (["-p", "5", "U@X.example", "y"], ["x.example"]),
        (["@1.1.1.1", "x"], ["x"]),
        (["+short", "x"], ["x"]),
        (["[::1]"], ["::1"]),
        (["a/b", "x"], []),
        ([], []),
    ],
)
def test_the_first_operand_is_a_machine(texts, found):
    collector = EffectCollector()
    collect_first_host([Argument(text, text) for text in texts], collector)

    assert list(collector.effects().hosts) == found


def test_the_class_only_rises_and_reasons_are_ranked():
    collector = EffectCollector()
    collector.add_reason(CommandClass.SAFE, "safe", "a")
    collector.add_reason(CommandClass.DEV, "dev", "a")
    assert collector.take_part_class() is CommandClass.DEV
    assert collector.take_part_class() is CommandClass.SAFE
    collector.add_reason(CommandClass.DANGEROUS, "bad", "b")
    collector.add_reason(CommandClass.DEV, "bad", "b")
    collector.add_reason(CommandClass.SAFE, "safe", "c")
    analysis = collector.to_analysis()

    assert analysis.safety_class is CommandClass.DANGEROUS
    assert [one.text for one in analysis.reasons] == ["bad", "dev"]


def test_what_was_collected():
    collector = EffectCollector()
    assert not collector.reads_trees()
    collector.add_reads(["/a", "/b/", "/a"])
    collector.add_writes(["/c"])
    collector.add_removes(["/c"])
    collector.add_program("ls")
    assert collector.reads_trees()
    effects = collector.effects()

    assert (effects.reads, effects.writes, effects.removes) == (("/a", "/b/"), ("/c",), ("/c",))
    assert (effects.programs, effects.network) == (("ls",), False)
    collector.add_host("x")
    assert collector.effects().network
