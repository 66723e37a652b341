"""Pictures, PDF files and notebooks for tests."""

import io
import json
import struct
import zlib

from PIL import Image


def picture(form="PNG", size=(80, 40), mode="RGB", color="red", **options):
    """An image file."""
    target = io.BytesIO()
    Image.new(mode, size, color).save(target, form, **options)
    return target.getvalue()


def png_bomb(width=60_000, height=60_000):
    """A small file that says it has 3.6 thousand million pixels."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1_000_000), 9)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def pdf(*pages, encrypted=False, forms=()):
    """A PDF file without binary bytes; each page has a text, and ends with its further operators.
    Each of `forms` is a form XObject as matrix and operators, which names the next one /X1, /X2 ….
    """
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    # The number of a page and of its content comes before those of the forms.
    first = len(objects) + 2 * len(pages)
    names = b" ".join(b"/X%d %d 0 R" % (at, first + at) for at in range(1, len(forms) + 1))
    resources = b"/Resources << /Font << /F1 3 0 R >> /XObject << %s >> >>" % names
    for page in pages:
        content = page if isinstance(page, bytes) else text_operators(page)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" %s >>" % (len(objects), resources)
        )
        kids.append(b"%d 0 R" % len(objects))
    for matrix, content in forms:
        objects.append(
            b"<< /Type /XObject /Subtype /Form /BBox [-5000 -5000 5000 5000] /Matrix [%s] %s"
            b" /Length %d >>\nstream\n%s\nendstream" % (matrix, resources, len(content), content)
        )
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % one for one in offsets)
    trailer = b"<< /Size %d /Root 1 0 R" % (len(objects) + 1)
    if encrypted:
        locked = b"0" * 64
        trailer += b" /ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4"
        trailer += b" /O <%s> /U <%s> >>" % (locked, locked)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return data + b"trailer\n%s >>\nstartxref\n%d\n%%%%EOF\n" % (trailer, start)


def text_operators(text, *, invisible=False, size=b"24", color=b"0 0 0"):
    mode = b"3 Tr " if invisible else b""
    words = text.encode("ascii")
    return b"%s rg BT /F1 %s Tf %s72 700 Td (%s) Tj ET" % (color, size, mode, words)


def notebook(*cells):
    """A notebook of format 4."""
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def code_cell(source, *outputs, **more):
    return {"cell_type": "code", "source": source, "outputs": list(outputs), **more}
