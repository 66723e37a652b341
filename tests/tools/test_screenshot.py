"""The screenshot tool on its own; the stories are in tests/spec/test_screenshot.py."""

from handrail.core.lazy import Lazy
from handrail.core.names.web_urls import WebReach
from handrail.core.ports.web import Screenshot, WebServices
from handrail.core.results import Image
from handrail.tools.web.screenshot import ScreenshotParams, ScreenshotTool


class Camera:
    def __init__(self, shot):
        self.shot = shot
        self.asked = []

    async def capture(self, url, options):
        self.asked.append((url.text, options))
        return self.shot


def tool(camera):
    nothing = Lazy(lambda: None)
    services = WebServices(
        WebReach(),
        1_000,
        nothing,
        nothing,
        "net:search",
        None,
        Lazy(lambda: camera),
        lambda: False,
    )
    return ScreenshotTool(Lazy(lambda: services))


async def test_the_result_has_picture_outline_and_what_was_refused():
    image = Image("image/png", b"png")
    camera = Camera(
        Screenshot("https://a.example/", image, ("# One", "## T\x1bwo"), ("b.example",))
    )

    args = ScreenshotParams(url="https://a.example/", width=640, full_page=True)
    output = await tool(camera).run(args, None)

    assert output.text.startswith("# One\n## T\\x1bwo\n\n[https://a.example/]")
    assert "b.example" in output.text
    assert output.images == (image,)
    assert camera.asked == [("https://a.example/", (640, 800, True, 0))]


async def test_headings_that_are_too_many_to_be_listed_are_not_none():
    camera = Camera(Screenshot("https://a.example/", outline_cut=True))

    output = await tool(camera).run(ScreenshotParams(url="https://a.example/"), None)

    assert "too many headings" in output.text
    assert (output.data["outline"], output.data["outline_cut"]) == ([], True)


async def test_another_host_is_an_answer_without_a_picture():
    camera = Camera(Screenshot("https://a.example/", redirect="https://b.example/"))

    output = await tool(camera).run(ScreenshotParams(url="https://a.example/"), None)

    assert (output.data["final_url"], output.images) == ("https://b.example/", ())


def test_the_footprint_is_the_host():
    [touch] = tool(None).footprint(ScreenshotParams(url="https://a.example/x")).touches

    assert touch.key == "net:a.example"
