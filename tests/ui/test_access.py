"""Who may use the page: one browser on this machine, and no other page in it."""

import anyio
import pytest

from handrail.ui import access

from tests.ui.conftest import HOST  # isort: skip

ORIGIN = {"origin": f"http://{HOST}"}


async def test_the_address_that_is_printed_works_once(open_page):
    async with open_page(log_in=False) as client:
        first = await client.get(client.login_path)
        again = await client.get(client.login_path)

    assert (first.status_code, again.status_code) == (303, 401)
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize("path", ["/", "/questions", "/events", "/static/ui.js", "/settings"])
async def test_nothing_is_shown_without_the_cookie(open_page, path):
    async with open_page(log_in=False) as client:
        answers = [
            await client.get(path),
            await client.get(path, headers={"cookie": "handrail_ui=wrong"}),
            await client.get("/login?token=wrong"),
        ]

    assert [one.status_code for one in answers] == [401, 401, 401]


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1:7000", "page.localhost:7001", f"{HOST}.evil.example", ""]
)
async def test_another_host_is_refused(open_page, host):
    async with open_page() as client:
        answer = await client.get("/", headers={"host": host})

    assert answer.status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://page.localhost:7000"])
async def test_another_origin_is_refused(open_page, origin):
    async with open_page() as client:
        read = await client.get("/", headers={"origin": origin})
        change = await client.post("/tasks", data={"csrf": client.csrf}, headers={"origin": origin})

    assert (read.status_code, change.status_code) == (403, 403)


async def test_a_change_needs_the_token_of_our_pages_and_an_origin(open_page):
    async with open_page() as client:
        task = {"task": "x"}
        answers = [
            await client.post("/tasks", data=task, headers=ORIGIN),
            await client.post("/tasks", data={**task, "csrf": "wrong"}, headers=ORIGIN),
            await client.post("/tasks", data={**task, "csrf": client.csrf}),
            await client.post("/tasks", json={**task, "csrf": client.csrf}, headers=ORIGIN),
            await client.put("/tasks", data={**task, "csrf": client.csrf}, headers=ORIGIN),
            await client.get("/tasks", params={**task, "csrf": client.csrf}),
        ]

    assert [one.status_code for one in answers] == [403, 403, 403, 415, 405, 405]


async def test_a_form_has_a_limit(open_page):
    async with open_page() as client:
        big = {"csrf": client.csrf, "task": "x" * 1_100_000}
        answer = await client.post("/tasks", data=big, headers=ORIGIN)

    assert answer.status_code == 413


async def test_the_cookie_is_for_a_name_that_no_other_server_has(start_page):
    names = set()
    for _ in range(2):
        with start_page() as (_, address):
            names.add(address.partition("://")[2].partition(":")[0])

    assert len(names) == 2
    assert all(name.endswith(".localhost") for name in names)


@pytest.mark.parametrize("path", ["/", "/login?token=wrong", "/nothing"])
async def test_every_answer_forbids_frames_and_foreign_content(open_page, path):
    async with open_page() as client:
        headers = (await client.get(path)).headers

    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "img-src 'self' data:" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert not [name for name in headers if name.startswith("access-control")]


async def test_a_form_that_does_not_arrive_is_refused(monkeypatch):
    async def refuse_to_serve(scope, receive, send):
        raise AssertionError("the request was passed on")

    async def never_arrive():
        await anyio.sleep_forever()

    sent = []

    async def keep(message):
        sent.append(message)

    monkeypatch.setattr(access, "_FORM_S", 0.01)
    guard = access.BrowserAccess(refuse_to_serve, "page.localhost:1")
    address = {"type": "http", "headers": [(b"host", b"page.localhost:1")]}
    login = {**address, "method": "GET", "path": "/login"}
    login["query_string"] = guard.login_path.partition("?")[2].encode()
    await guard(login, never_arrive, keep)
    cookie = dict(sent.pop(0)["headers"])[b"set-cookie"].partition(b";")[0]
    form = [
        *address["headers"],
        (b"origin", b"http://page.localhost:1"),
        (b"cookie", cookie),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ]
    sent.clear()

    await guard({**address, "method": "POST", "path": "/x", "headers": form}, never_arrive, keep)

    assert sent[0]["status"] == 408
