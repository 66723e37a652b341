"""The result of a decoder: parts, notes and images that were decoded and encoded again. Part of
`media_worker`; imports nothing of Handrail.
"""

from __future__ import annotations

import io
import json
import sys
import zlib
from typing import Any, Final

MAX_SIDE: Final = 1_568
MAX_TEXT: Final = 80_000
MOST_IMAGES: Final = 8
_MAX_PIXELS: Final = 120_000_000
_MAX_PNG: Final = 1_500_000
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "AVIF", "PPM", "TGA")
_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
# A line of Handrail, text of the file or None, and the kind of text: page, source or output.
MediaAnswerPart = tuple[str, str | None, str]


class MediaError(Exception):
    """Why a file cannot be shown: a code for the reader, and a reason for users."""

    def __init__(self, problem: str, reason: str) -> None:
        super().__init__(reason)
        self.problem = problem
        self.reason = reason


class MediaAnswer:
    """What will be shown of a file."""

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type
        self.parts: list[MediaAnswerPart] = []
        self.notes: list[str] = []
        self.images: list[tuple[str, bytes]] = []
        self.first = self.last = self.total = 1

    def write(self) -> None:
        """Write the answer to standard output."""
        head = {
            "parts": [[_encodable_text(one) for one in part] for part in self.parts],
            "media_type": self.media_type,
            "first": self.first,
            "last": self.last,
            "total": self.total,
            "notes": self.notes,
            "images": [{"media_type": one, "size": len(data)} for one, data in self.images],
        }
        sys.stdout.buffer.write(json.dumps(head).encode("ascii") + b"\n")
        for _, data in self.images:
            sys.stdout.buffer.write(data)


def decode_image(data: bytes) -> tuple[Any, dict[str, Any]]:
    """Return the decoded image, made smaller, and what the file says about itself."""
    from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415 - after the path is set

    Image.MAX_IMAGE_PIXELS = None
    try:
        if data.startswith(_PNG_SIGNATURE):
            data = _drop_damaged_chunks(data)
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
        width, height = image.size
        if width * height > _MAX_PIXELS:
            reason = f"it has {width:,} x {height:,} pixels, more than {_MAX_PIXELS:,}"
            raise MediaError("too_large", reason)  # noqa: TRY301 - passed on below
        described: dict[str, Any] = {"format": image.format, "size": image.size}
        described["frames"] = getattr(image, "n_frames", 1)
        image.draft("RGB", (MAX_SIDE, MAX_SIDE))
        image.load()
        image = _to_rgb(ImageOps.exif_transpose(image))
        image.thumbnail((MAX_SIDE, MAX_SIDE))
    except UnidentifiedImageError:
        raise MediaError("broken", "it is not an image of a known format") from None
    except MemoryError:
        raise MediaError("too_large", "decoding it needs too much memory") from None
    except MediaError:
        raise
    except Exception as error:  # noqa: BLE001 - decoders raise many kinds for a damaged file
        raise MediaError("broken", f"it is not a complete image ({error})") from None
    return image, described


def _drop_damaged_chunks(data: bytes) -> bytes:
    """Return a PNG file without damaged optional chunks, which are not needed to show it."""
    kept, at = [_PNG_SIGNATURE], len(_PNG_SIGNATURE)
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        chunk, optional = data[at:end], data[at + 4] & 32
        if not optional or zlib.crc32(chunk[4:-4]) == int.from_bytes(chunk[-4:], "big"):
            kept.append(chunk)
        at = end
    return b"".join(kept)


def _to_rgb(image: Any) -> Any:
    if image.mode in ("RGB", "RGBA", "L"):
        return image
    if image.mode.startswith("I") or image.mode == "F":
        # More than 8 bits per pixel: the brightest value becomes white.
        image = image.convert("F")
        brightest = image.getextrema()[1] or 1
        return image.point(lambda value: value * (255 / brightest)).convert("L")
    has_alpha = "transparency" in image.info or image.mode in ("LA", "PA", "La", "RGBa")
    return image.convert("RGBA" if has_alpha else "RGB")


def encode_image(image: Any) -> tuple[str, bytes]:
    """Return the image as PNG, or as JPEG if PNG would be large."""
    from PIL import Image  # noqa: PLC0415 - after the path is set

    target = io.BytesIO()
    image.save(target, "PNG")
    if target.tell() <= _MAX_PNG:
        return "image/png", target.getvalue()
    if image.mode == "RGBA":
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        image = white
    target = io.BytesIO()
    image.convert("RGB").save(target, "JPEG", quality=85)
    return "image/jpeg", target.getvalue()


def _encodable_text(value: str | None) -> str | None:
    return None if value is None else value.encode("utf-8", "replace").decode()
