"""What a call touches by its paths and by the footprint that its tool computes."""

import pytest

import handrail
from handrail import Access, Effects, Footprint, ReadPath, Registry, Touch, WritePath
from handrail.core.paths import TreePath
from handrail.core.places import PLAN_FILE_ROOT, Kind, Place
from handrail.core.problems import ProblemRaised
from handrail.engine.prepare.paths import call_footprint, output_touch, resolve_nested, tree_touch
from handrail.engine.registry import ToolOrigin
from handrail.host.files.local_files import LocalFiles


@pytest.fixture
def files(tmp_path):
    (tmp_path / "ws" / "real").mkdir(parents=True)
    (tmp_path / "ws" / "link").symlink_to("real")
    files = LocalFiles([tmp_path / "ws"])
    yield files
    files.close()


def entry(said=None, effects=Effects.WRITES_PATHS, origin=ToolOrigin.USER, **fields):
    """A registered tool that says it touches this; None: it computes no footprint."""

    class Own(handrail.Tool):
        name = "own"
        summary = "s"

        class params(handrail.Params):
            path: ReadPath = "a"
            several: tuple[ReadPath, ...] = ()
            written: tuple[WritePath, ...] = ()
            trees: tuple[TreePath, ...] = ()

        async def run(self, args, ctx):
            raise NotImplementedError

    if said is not None:
        Own.footprint = lambda self, args: said
    Own.effects = effects
    for name, value in fields.items():
        setattr(Own, name, value)
    registry = Registry()
    registry.register(Own(), origin=origin)
    return registry.entry("own")


def read(key):
    return Touch(key, Access.READ)


def touched(files, said, *touches, **options):
    """The touches of a call; paths in the workspace are shown without its path."""
    found = call_footprint(entry(said, **options), None, touches, files)
    root = str(files.locate(".").absolute)
    return [(key.replace(f"{root}/", ""), access.value) for key, access in found.touches]


@pytest.mark.parametrize(
    ("said", "origin", "expected"),
    [
        ("file:real/x", ToolOrigin.USER, "file:real/x"),
        ("file:link/x", ToolOrigin.USER, "file:real/x"),
        ("tree:link", ToolOrigin.USER, "tree:real"),
        ("file:link/x", ToolOrigin.RESOLVED, "file:real/x"),
        ("file:link/x", ToolOrigin.BUILTIN, "file:link/x"),
    ],
)
def test_the_footprint_of_ones_own_tool_has_real_names(files, said, origin, expected):
    assert touched(files, Footprint((read(said),)), origin=origin) == [(expected, "read")]


@pytest.mark.parametrize(("key", "effects", "code"), [
    ("file:../x", Effects.WRITES_PATHS, "outside_workspace"),
    ("net:x", Effects.WRITES_PATHS, "internal"),
    ("file:../x", Effects.OPEN_ENDED, None),
])  # fmt: skip
def test_a_footprint_stays_within_the_workspace_and_the_stated_effects(files, key, effects, code):
    said = Footprint((read(key),), open_ended=effects is Effects.OPEN_ENDED)

    if code is None:
        assert touched(files, said, effects=effects) == [(key, "read")]
    else:
        with pytest.raises(ProblemRaised) as raised:
            touched(files, said, effects=effects)
        assert raised.value.problem.code == code


@pytest.mark.parametrize(
    ("said", "given", "expected"),
    [
        (Footprint(), [], []),
        (Footprint(), ["a"], ["a"]),
        (Footprint((read("file:b"),)), ["a"], ["a", "b"]),
        (Footprint((read("file:a"),)), ["a"], ["a"]),
        (Footprint((read("file:b"),)), [], ["b"]),
        (None, ["a"], ["a"]),
        (None, [], []),
    ],
)
def test_a_computed_footprint_is_added_to_the_paths_of_the_arguments(files, said, given, expected):
    touches = [read(f"file:{files.locate(one).absolute}") for one in given]

    assert touched(files, said, *touches) == [(f"file:{one}", "read") for one in expected]


@pytest.mark.parametrize(
    ("key", "effects"),
    [("net:x", Effects.NETWORK), ("session:x", Effects.SESSION)],
)
def test_what_is_no_path_is_touched_as_the_tool_says(files, key, effects):
    said = Footprint((read(key),))
    given = read(f"file:{files.locate('a').absolute}")

    found = touched(files, said, given, effects=Effects.WRITES_PATHS | effects)

    assert found == [("file:a", "read"), (key, "read")]


@pytest.mark.parametrize(
    ("effects", "open_ended"),
    [(Effects.WRITES_PATHS, False), (Effects.WRITES_PATHS | Effects.OPEN_ENDED, True)],
)
def test_a_tool_that_computes_nothing_touches_what_it_states(files, effects, open_ended):
    given = read(f"file:{files.locate('a').absolute}")

    for touches in ([given], []):
        found = call_footprint(entry(effects=effects), None, touches, files)

        assert found.open_ended is open_ended
        assert list(found.touches[: len(touches)]) == touches


def test_an_access_may_be_written_as_a_word(files):
    said = Footprint((Touch("file:a", "write"),))

    assert touched(files, said) == [("file:a", "write")]


def test_what_is_no_footprint_is_a_defect(files):
    with pytest.raises(TypeError, match="not a Footprint"):
        touched(files, "everything")


def test_paths_inside_of_arguments_are_read_or_written(files):
    own, places, touches = entry(), {}, []
    args = own.tool.params(several=("a", "b"), written=("c",), trees=("d",))

    resolve_nested(own, args, files, places, touches)

    root = files.locate(".").absolute
    assert list(places) == ["several[0]", "several[1]", "written[0]", "trees[0]"]
    assert touches == [
        Touch(f"file:{root}/a", Access.READ),
        Touch(f"file:{root}/b", Access.READ),
        Touch(f"file:{root}/c", Access.WRITE),
        Touch(f"tree:{root}/d", Access.READ),
    ]


@pytest.mark.parametrize("given", ["../x", "output:c1"])
def test_a_path_that_is_refused_is_named_by_its_place_in_the_arguments(files, given):
    own = entry()

    with pytest.raises(ProblemRaised) as raised:
        resolve_nested(own, own.tool.params(several=("a", given)), files, {}, [])

    assert raised.value.problem.field == "several[1]"


def test_arguments_that_are_not_valid_have_no_paths(files):
    places, touches = {}, []

    resolve_nested(entry(), None, files, places, touches)

    assert (places, touches) == ({}, [])


def test_an_earlier_result_is_read_by_tools_that_can():
    assert output_touch(entry(reads_outputs=True), "path", "output:c1") == read("output:c1")
    with pytest.raises(ProblemRaised) as raised:
        output_touch(entry(), "path", "output:c1")
    assert raised.value.problem.field == "path"


def test_the_plan_file_is_in_no_tree():
    place = Place(0, "a", "a", "/ws/a", Kind.DIRECTORY)

    assert tree_touch("path", place) == read("tree:/ws/a")
    with pytest.raises(ProblemRaised):
        tree_touch("path", place._replace(root=PLAN_FILE_ROOT))
