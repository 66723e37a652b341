"""Frames survive any cut on the way, and recipes travel unchanged."""

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.host.sandbox.recipe import LandlockRules, Recipe
from handrail.host.supervisor.wire import (
    FrameDecoder,
    FrameKind,
    WireFrame,
    decode_recipe,
    encode_frame,
    encode_recipe,
)

frames = st.lists(
    st.builds(
        WireFrame, st.sampled_from(FrameKind), st.dictionaries(st.text(), st.text()), st.binary()
    )
)


@settings(max_examples=100, deadline=None)
@given(sent=frames, cut=st.integers(1, 50))
def test_frames_arrive_whatever_the_pieces(sent, cut):
    stream = b"".join(encode_frame(*frame) for frame in sent)
    unpacker = FrameDecoder()

    received = [
        frame
        for start in range(0, len(stream), cut)
        for frame in unpacker.feed(stream[start : start + cut])
    ]

    assert received == sent


def test_a_recipe_travels_unchanged():
    recipe = Recipe(
        ("/bin/sh", "-c", "odd \udcff text"),
        {"NAME": "\udcfe"},
        "/work",
        LandlockRules(("/usr",), ("/work", "/tmp"), network=False),
        filter=b"\0\xff",
        drop_capabilities=True,
        own_pids=True,
        file_arguments=1,
    )

    [frame] = FrameDecoder().feed(encode_frame(FrameKind.RUN, encode_recipe(recipe), recipe.filter))

    assert decode_recipe(frame.header, frame.body) == recipe
    assert decode_recipe(encode_recipe(recipe._replace(landlock=None)), b"").landlock is None


def test_of_a_recipe_only_what_differs_from_the_one_before_travels():
    before = Recipe(
        ("/bin/sh", "-c", "true"),
        {"PATH": "/bin", "A": "1"},
        "/work",
        LandlockRules(("/usr",), ("/work",), network=False),
        filter=b"old",
        drop_capabilities=True,
    )
    others = [
        before,
        before._replace(argv=("/bin/sh", "-c", "false"), filter=b"new"),
        before._replace(env={"PATH": "/bin"}, landlock=None, drop_capabilities=False),
        before._replace(landlock=before.landlock._replace(network=True), write_log="/notes"),
        Recipe(("/bin/true",), {}, "/"),
    ]

    for recipe in others:
        header = encode_recipe(recipe, before)
        [frame] = FrameDecoder().feed(encode_frame(FrameKind.RUN, header, recipe.filter))
        assert decode_recipe(frame.header, frame.body, before) == recipe

    assert encode_recipe(before, before) == {}
    assert encode_recipe(others[1], before) == {"argv": others[1].argv}
