"""What the decoder shows of images and PDF files, called directly."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
from PIL import Image
from tests.support.media import code_cell, notebook, pdf, picture, png_bomb, text_operators

from handrail.media import decoded, media_worker
from handrail.media.decoded import MAX_SIDE, MOST_IMAGES, MediaError
from handrail.media.media_worker import show_image, show_pdf

LONG = "words that are long enough to be text"


def opened(shown, number=0):
    return Image.open(io.BytesIO(shown.images[number][1]))


def problem(show, *given):
    with pytest.raises(MediaError) as caught:
        show(*given)
    return caught.value


class TestImages:
    @pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO"])
    def test_formats_are_shown_as_png(self, form):
        shown = show_image(picture(form, (64, 32) if form != "ICO" else (32, 32)))

        assert shown.media_type == "image/png"
        assert shown.parts == [
            (f"{form} image, {'64 x 32' if form != 'ICO' else '32 x 32'} pixels", None, "")
        ]
        assert (opened(shown).format, len(shown.images), shown.notes) == ("PNG", 1, [])
        assert (shown.first, shown.last, shown.total) == (1, 1, 1)

    @pytest.mark.parametrize(
        ("size", "shown_size"),
        [
            ((MAX_SIDE, 10), None),
            ((MAX_SIDE + 1, 10), (MAX_SIDE, 10)),
            ((2 * MAX_SIDE, 200), (MAX_SIDE, 100)),
            ((100, 2 * MAX_SIDE), (50, MAX_SIDE)),
        ],
    )
    def test_a_large_image_is_made_smaller_and_says_so(self, size, shown_size):
        shown = show_image(picture(size=size))

        assert opened(shown).size == (shown_size or size)
        width, height = shown_size or size
        noted = [] if shown_size is None else [f"shown at {width} x {height} pixels"]
        assert shown.notes == noted

    def test_a_turned_image_is_not_a_smaller_one(self):
        exif = Image.Exif()
        exif[0x0112] = 6
        shown = show_image(picture("JPEG", (80, 40), exif=exif))

        assert (opened(shown).size, shown.notes) == ((40, 80), [])

    @pytest.mark.parametrize(
        ("form", "count", "notes"),
        [
            ("GIF", 1, []),
            ("GIF", 3, ["the first of 3 frames of an animation"]),
            ("TIFF", 2, ["the first of 2 pages"]),
        ],
    )
    def test_the_first_of_several_frames_is_shown(self, form, count, notes):
        target = io.BytesIO()
        frames = [Image.new("RGB", (20, 20), color) for color in ("red", "green", "blue")[:count]]
        frames[0].save(target, form, save_all=True, append_images=frames[1:])

        shown = show_image(target.getvalue())

        assert shown.notes == notes
        assert opened(shown).convert("RGB").getpixel((5, 5)) == (255, 0, 0)

    @pytest.mark.parametrize(
        ("mode", "color", "shown_mode"),
        [
            ("RGB", "red", "RGB"),
            ("RGBA", "red", "RGBA"),
            ("L", 7, "L"),
            ("LA", (7, 9), "RGBA"),
            ("P", 0, "RGB"),
            ("1", 1, "RGB"),
            ("I;16", 500, "L"),
        ],
    )
    def test_colours_are_converted_to_what_models_read(self, mode, color, shown_mode):
        shown = show_image(picture(mode=mode, color=color))

        assert opened(shown).mode == shown_mode

    def test_the_brightest_of_many_greys_is_white(self):
        image = Image.new("I;16", (2, 1), 0)
        image.putpixel((1, 0), 1000)
        target = io.BytesIO()
        image.save(target, "PNG")

        found = opened(show_image(target.getvalue()))

        assert [found.getpixel((at, 0)) for at in (0, 1)] == [0, 255]

    def test_a_black_image_of_many_greys_is_black(self):
        assert opened(show_image(picture(mode="I;16", color=0))).getpixel((0, 0)) == 0

    @pytest.mark.parametrize("more", [0, 1])
    def test_what_would_be_large_as_png_is_jpeg(self, monkeypatch, more):
        as_png = len(show_image(picture()).images[0][1])
        monkeypatch.setattr(decoded, "_MAX_PNG", as_png - more)

        shown = show_image(picture())

        kind = "JPEG" if more else "PNG"
        assert shown.media_type == shown.images[0][0] == f"image/{kind.lower()}"
        assert opened(shown).format == kind

    def test_transparent_parts_of_a_jpeg_are_white(self, monkeypatch):
        monkeypatch.setattr(decoded, "_MAX_PNG", 0)

        shown = show_image(picture(mode="RGBA", color=(255, 0, 0, 0)))

        assert opened(shown).getpixel((20, 20)) == (255, 255, 255)

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "broken"),
            (b"text", "broken"),
            (picture()[:60], "broken"),
            (png_bomb(), "too_large"),
            (png_bomb(12_001, 10_000), "too_large"),
        ],
    )
    def test_what_cannot_be_shown_is_a_problem(self, data, code):
        assert problem(show_image, data).problem == code

    def test_a_damaged_comment_is_left_out(self):
        data = picture()
        body = b"tEXtComment\0hello"
        chunk = (len(body) - 4).to_bytes(4, "big") + body + b"\0\0\0\0"
        at = len(data) - 12
        assert show_image(data[:at] + chunk + data[at:]).media_type == "image/png"
        assert problem(show_image, data[:40] + b"x" + data[41:]).problem == "broken"


class TestPages:
    def test_text_and_pictures_of_few_pages(self):
        shown = show_pdf(pdf(LONG, "second page"), 1, 0)

        assert shown.parts == [
            ("--- page 1 of 2 ---", LONG, "page"),
            ("--- page 2 of 2 ---", "second page", "page"),
        ]
        assert (shown.first, shown.last, shown.total) == (1, 2, 2)
        assert (shown.media_type, shown.notes) == ("application/pdf", [])
        assert [kind for kind, _ in shown.images] == ["image/png"] * 2
        assert opened(shown).size == (1212, 1568)

    @pytest.mark.parametrize(
        ("pages", "first", "count", "wanted"),
        [
            (1, 1, 0, [1]),
            (5, 2, 2, [2, 3]),
            (5, 5, 9, [5]),
            (25, 1, 0, list(range(1, 21))),
            (25, 1, 30, list(range(1, 21))),
            (25, 6, 0, list(range(6, 26))),
        ],
    )
    def test_the_pages_that_are_asked_for(self, pages, first, count, wanted):
        shown = show_pdf(pdf(*[f"{LONG} {number}" for number in range(1, pages + 1)]), first, count)

        assert [part[1] for part in shown.parts] == [f"{LONG} {number}" for number in wanted]
        assert (shown.first, shown.last, shown.total) == (first, wanted[-1], pages)

    @pytest.mark.parametrize(("pages", "pictures"), [(3, 3), (4, 0)])
    def test_of_many_pages_there_are_no_pictures(self, pages, pictures):
        shown = show_pdf(pdf(*[LONG] * pages), 1, 0)

        assert len(shown.images) == pictures

    def test_of_many_pages_those_without_text_are_pictures(self):
        little, enough = "x" * 19, "x" * 20
        shown = show_pdf(pdf(LONG, b"", little, enough, LONG), 1, 0)

        assert len(shown.images) == 2
        assert shown.parts[1][0].endswith("see the picture]")
        assert shown.parts[1][1:] == ("", "page")
        assert shown.parts[2][0] == "--- page 3 of 5 ---"

    def test_there_are_not_more_pictures_than_a_message_may_have(self):
        shown = show_pdf(pdf(*[b""] * (MOST_IMAGES + 2)), 1, 0)

        assert len(shown.images) == MOST_IMAGES
        assert shown.parts[MOST_IMAGES - 1][0].endswith("[no text; see the picture]")
        assert shown.parts[MOST_IMAGES][0].endswith("---")

    def test_a_page_that_is_too_long_is_cut_and_ends_the_text(self, monkeypatch):
        monkeypatch.setattr(media_worker, "MAX_TEXT", 40)
        shown = show_pdf(pdf("a" * 50, "b" * 30, "c"), 1, 0)

        assert [part[1] for part in shown.parts] == ["a" * 40, "b" * 30]
        assert (shown.last, shown.total) == (2, 3)
        assert len(shown.notes) == 1
        assert "page 1" in shown.notes[0]

    @pytest.mark.parametrize(("pages", "words"), [(1, "the 1 page"), (2, "the 2 pages")])
    def test_a_page_past_the_end(self, pages, words):
        found = problem(show_pdf, pdf(*["a"] * pages), pages + 1, 0)

        assert found.problem == "past_the_end"
        assert words in found.reason

    @pytest.mark.parametrize(
        ("data", "reason"), [(pdf("a", encrypted=True), "encrypted"), (b"%PDF-1.4\nx", "broken")]
    )
    def test_what_is_no_readable_file(self, data, reason):
        found = problem(show_pdf, data, 1, 0)

        assert found.problem == "broken"
        assert reason in found.reason

    @pytest.mark.parametrize(
        ("contents", "hidden"),
        [
            ([text_operators("seen")], 0),
            ([text_operators("hidden", invisible=True)], 1),
            ([text_operators("tiny", size=b"0.9")], 1),
            ([text_operators("small", size=b"3")], 0),
            ([text_operators("white", color=b"1 1 1")], 1),
            ([text_operators("nearly white", color=b"0.98 0.98 0.98")], 1),
            ([text_operators("grey", color=b"0.9 0.9 0.9")], 0),
            ([text_operators("a", invisible=True) + b" " + text_operators("b", color=b"1 1 1")], 2),
            ([text_operators("a", invisible=True), text_operators("b", invisible=True)], 2),
        ],
    )
    def test_text_that_nobody_can_see_is_counted(self, contents, hidden):
        shown = show_pdf(pdf(*contents), 1, 0)

        noted = {0: [], 1: ["1 piece of this text is invisible on the page"]}
        many = [f"{hidden} pieces of this text are invisible on the page"]
        assert shown.notes == noted.get(hidden, many)


class TestProgram:
    def run(self, monkeypatch, data, *arguments):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=written))
        media_worker.main(*arguments)
        head, _, images = written.getvalue().partition(b"\n")
        return json.loads(head), images

    def test_an_image_follows_its_description(self, monkeypatch):
        head, images = self.run(monkeypatch, picture(), "/one:/two", "image", "1", "0")

        assert head["media_type"] == "image/png"
        assert head["images"] == [{"media_type": "image/png", "size": len(images)}]
        assert head["parts"] == [["PNG image, 80 x 40 pixels", None, ""]]
        assert sys.path[-2:] == ["/one", "/two"]

    def test_pages_are_chosen_by_the_arguments(self, monkeypatch):
        head, _ = self.run(monkeypatch, pdf("a", "b", "c"), "", "pdf", "2", "1")

        assert (head["first"], head["last"], head["total"]) == (2, 2, 3)
        assert "" not in sys.path[1:]

    def test_a_notebook_is_shown(self, monkeypatch):
        head, images = self.run(monkeypatch, notebook(code_cell("x = 1")), "", "notebook", "1", "0")

        assert any(part[1] == "x = 1" for part in head["parts"])
        assert images == b""

    def test_a_problem_is_an_answer_as_well(self, monkeypatch):
        head, images = self.run(monkeypatch, b"text", "", "image", "1", "0")

        assert (head["problem"], images) == ("broken", b"")
        assert 0 < len(head["reason"]) <= 300
