"""Images that are decoded and encoded again: damaged parts, many bits, and large ones."""

import io
import json
import os
import struct
import sys
import zlib
from types import SimpleNamespace

import pytest
from PIL import Image

from handrail.media import decoded
from handrail.media.decoded import MediaAnswer, decode_image, encode_image

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(name, body=b"", damaged=False):
    check = zlib.crc32(name + body) ^ damaged
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", check)


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ([], []),
        ([chunk(b"IHDR", b"x")], [0]),
        ([chunk(b"IHDR", b"x", damaged=True)], [0]),
        ([chunk(b"tEXt", b"hello")], [0]),
        ([chunk(b"tEXt", b"hello", damaged=True)], []),
        ([chunk(b"tEXt", b"", damaged=True), chunk(b"IEND")], [1]),
        ([chunk(b"IHDR", b"x"), chunk(b"tIME", b"abc", damaged=True), chunk(b"tEXt"), chunk(b"IEND")], [0, 2, 3]),
        ([chunk(b"IDAT", b"y" * 300), chunk(b"zTXt", b"z" * 70_000)], [0, 1]),
        ([chunk(b"IEND"), b"12345678901"], [0]),
    ],
)  # fmt: skip
def test_only_damaged_optional_chunks_are_left_out(parts, kept):
    found = decoded._drop_damaged_chunks(SIGNATURE + b"".join(parts))
    assert found == SIGNATURE + b"".join(parts[number] for number in kept)


@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        ("RGB", "RGB"),
        ("RGBA", "RGBA"),
        ("L", "L"),
        ("1", "RGB"),
        ("P", "RGB"),
        ("CMYK", "RGB"),
        ("LA", "RGBA"),
        ("I", "L"),
        ("I;16", "L"),
        ("F", "L"),
    ],
)
def test_every_mode_becomes_one_that_can_be_shown(mode, shown):
    assert decoded._to_rgb(Image.new(mode, (2, 2))).mode == shown


def test_transparency_is_kept():
    image = Image.new("P", (2, 2))
    image.info["transparency"] = 0
    assert decoded._to_rgb(image).mode == "RGBA"


@pytest.mark.parametrize(
    ("values", "shown"), [((0, 500, 1_000), (0, 127, 255)), ((0, 0, 0), (0, 0, 0))]
)
def test_the_brightest_value_becomes_white(values, shown):
    image = Image.new("I", (3, 1))
    image.putdata(values)
    assert tuple(decoded._to_rgb(image).tobytes()) == shown


def test_what_a_file_says_about_itself():
    data = io.BytesIO()
    frames = [Image.new("L", (4, 3), value) for value in (0, 200)]
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:])
    image, described = decode_image(data.getvalue())
    assert described == {"format": "GIF", "size": (4, 3), "frames": 2}
    assert image.size == (4, 3)


def test_a_large_png_becomes_a_jpeg_on_white(monkeypatch):
    image = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    media_type, png = encode_image(image)
    assert (media_type, png[:8]) == ("image/png", SIGNATURE)
    monkeypatch.setattr(decoded, "_MAX_PNG", len(png))
    assert encode_image(image)[0] == "image/png"
    monkeypatch.setattr(decoded, "_MAX_PNG", len(png) - 1)
    media_type, jpeg = encode_image(image)
    assert media_type == "image/jpeg"
    opened = Image.open(io.BytesIO(jpeg))
    assert (opened.format, opened.size) == ("JPEG", (8, 8))
    assert min(opened.getpixel((0, 0))) > 250
    assert encode_image(Image.frombytes("L", (64, 64), os.urandom(4_096)))[0] == "image/jpeg"


def test_an_answer_is_a_line_and_the_images(monkeypatch):
    target = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=target))
    answer = MediaAnswer("image/png")
    answer.parts = [("a", None, ""), ("b", "x\ud800", "page")]
    answer.images = [("image/png", b"12"), ("image/jpeg", b"345")]
    answer.notes = ["n"]
    answer.last = answer.total = 2
    answer.write()
    head, images = target.getvalue().split(b"\n", 1)
    assert images == b"12345"
    assert json.loads(head) == {
        "parts": [["a", None, ""], ["b", "x?", "page"]],
        "media_type": "image/png",
        "first": 1,
        "last": 2,
        "total": 2,
        "notes": ["n"],
        "images": [{"media_type": "image/png", "size": 2}, {"media_type": "image/jpeg", "size": 3}],
    }
