"""URLs of the web: what is parsed, what is refused, and which hosts a request may reach."""

import pytest

from handrail.core.names.web_urls import (
    MAX_URL,
    WebReach,
    WebUrl,
    is_public_address,
    parse_web_url,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.example", WebUrl("http", "a.example", 80, "/")),
        ("HTTPS://A.Example./x?y#z", WebUrl("https", "a.example", 443, "/x?y")),
        ("https://a.example?y=1", WebUrl("https", "a.example", 443, "/?y=1")),
        ("https://a.example#z", WebUrl("https", "a.example", 443, "/")),
        ("http://a.example:1/", WebUrl("http", "a.example", 1, "/")),
        ("http://a.example:65535/", WebUrl("http", "a.example", 65535, "/")),
        ("http://a_b-c.example/", WebUrl("http", "a_b-c.example", 80, "/")),
        ("http://[2001:DB8::1]:8080/", WebUrl("http", "2001:db8::1", 8080, "/")),
        ("http://b\u00fccher.example/", WebUrl("http", "xn--bcher-kva.example", 80, "/")),
        ("http://a.example/\u00fc/%41", WebUrl("http", "a.example", 80, "/%C3%BC/%41")),
        ("http://a.example/\u20ac?\u00e9", WebUrl("http", "a.example", 80, "/%E2%82%AC?%C3%A9")),
        ("http://10.1.2.3/", WebUrl("http", "10.1.2.3", 80, "/")),
        ("http://10.1.515/", WebUrl("http", "10.1.2.3", 80, "/")),
        ("http://10.66051/", WebUrl("http", "10.1.2.3", 80, "/")),
        ("http://167838211/", WebUrl("http", "10.1.2.3", 80, "/")),
        ("http://0xA.0X1.02.3/", WebUrl("http", "10.1.2.3", 80, "/")),
        ("http://0x10.0.0.0/", WebUrl("http", "16.0.0.0", 80, "/")),
        ("http://010.0.0.0/", WebUrl("http", "8.0.0.0", 80, "/")),
        ("http://255.255.255.255/", WebUrl("http", "255.255.255.255", 80, "/")),
        ("http://255.255.65535/", WebUrl("http", "255.255.255.255", 80, "/")),
        ("http://4294967295/", WebUrl("http", "255.255.255.255", 80, "/")),
        ("http://0/", WebUrl("http", "0.0.0.0", 80, "/")),
    ],
)
def test_a_url_is_parsed_and_normalized(text, expected):
    assert parse_web_url(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "http://a.example/ b",
        "http://a.example/\u00a0",
        "http://a.example/\x01",
        "http://a.example\\b",
        "ftp://a.example/",
        "a.example",
        "http:",
        "http:a.example",
        "http:///x",
        "http://user@a.example/",
        "http://a.example:/",
        "http://a.example:0/",
        "http://a.example:65536/",
        "http://a.example:123456/",
        "http://a[b/",
        "http://[::g]/",
        "http://a..example/",
        "http://-a.example/",
        "http://a-.example/",
        f"http://{'a' * 64}.example/",
        f"http://{'.'.join(['a' * 50] * 5)}/",
        "http://1.2.3.4.5/",
        "http://a.1/",
        "http://1_0.1.1.1/",
        "http://256.1.1.1/",
        "http://1.256.1.1/",
        "http://1.2.3.256/",
        "http://1.2.65536/",
        "http://1.16777216/",
        "http://4294967296/",
        "http://0x/",
        "http://1.2.3.09/",
        "http://\uff41.example/",
        "http://stra\u00dfe.example/",
        "http://" + "\u00fc" * 80 + ".example/",
    ],
)
def test_a_url_that_programs_may_read_differently_is_refused(text):
    with pytest.raises(ValueError):
        parse_web_url(text)


def test_the_length_of_a_url_is_limited():
    start = "http://a.example/"
    longest = start + "x" * (MAX_URL - len(start))

    assert parse_web_url(longest).text == longest
    with pytest.raises(ValueError):
        parse_web_url(longest + "x")


def test_the_length_of_a_host_is_limited():
    longest = ".".join(["a" * 49] * 5) + ".abc"

    assert len(longest) == 253
    assert parse_web_url(f"http://{longest}/").host == longest
    with pytest.raises(ValueError):
        parse_web_url(f"http://{longest}d/")


@pytest.mark.parametrize(
    ("text", "normal", "key"),
    [
        ("http://a.example", "http://a.example/", "net:a.example"),
        ("http://a.example:80", "http://a.example/", "net:a.example"),
        ("http://a.example:443", "http://a.example:443/", "net:a.example"),
        ("https://a.example:443/x", "https://a.example/x", "net:a.example"),
        ("https://a.example:80/x", "https://a.example:80/x", "net:a.example"),
        ("https://a.example:8443", "https://a.example:8443/", "net:a.example:8443"),
        ("http://[::1]", "http://[::1]/", "net:[::1]"),
        ("http://[::1]:81", "http://[::1]:81/", "net:[::1]:81"),
    ],
)
def test_a_url_has_a_text_an_origin_and_a_key(text, normal, key):
    url = parse_web_url(text)

    assert url.text == normal
    assert url.key == key
    assert url.origin == (url.scheme, url.host, url.port)
    assert parse_web_url(url.text) == url


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("::ffff:8.8.8.8", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("192.0.0.9", False),
        ("192.88.99.1", False),
        ("168.63.129.16", False),
        ("168.63.129.17", True),
        ("224.0.1.1", False),
        ("ff0e::1", False),
        ("::1", False),
        ("64:ff9b::808:808", True),
        ("64:ff9b::7f00:1", False),
        ("2001::1", False),
        ("2002:808:808::1", False),
        ("3fff::1", False),
        ("::ffff:127.0.0.1", False),
        ("fd00::1", False),
        ("4000::1", False),
    ],
)
def test_which_addresses_are_public(address, expected):
    assert is_public_address(address) is expected


def test_what_is_no_address_is_an_error():
    with pytest.raises(ValueError):
        is_public_address("a.example")


@pytest.mark.parametrize(
    ("allow", "deny", "url", "may"),
    [
        (["*"], [], "https://a.example", True),
        (["*"], [], "https://a.example:8080", True),
        (["*"], [], "https://a.example:8443", True),
        (["*"], [], "https://a.example:22", False),
        (["*"], [], "http://127.0.0.1", False),
        (["*"], [], "http://8.8.8.8", True),
        (["*"], [], "http://localhost", False),
        (["*"], [], "http://a.localhost", False),
        (["*"], [], "http://notlocalhost", True),
        (["*"], [], "http://[::1]", False),
        (["*", "127.0.0.1:9000"], [], "http://127.0.0.1:9000", True),
        (["*", "127.0.0.1:9000"], [], "http://127.0.0.1:9001", False),
        (["*", "localhost:80"], [], "http://localhost", True),
        (["a.example"], [], "http://a.example", True),
        (["a.example"], [], "http://b.example", False),
        (["a.example"], [], "http://a.example:22", False),
        (["a.example:22"], [], "http://a.example:22", True),
        (["*.a.example"], [], "http://x.a.example", True),
        ([], [], "http://a.example", False),
        (["*"], ["a.example"], "http://a.example", False),
        (["*"], ["a.example"], "http://x.a.example", False),
        (["*"], ["a.example"], "http://b.example", True),
        (["*"], ["*.a.example"], "http://x.a.example", False),
        (["a.example:22"], ["a.example"], "http://a.example:22", False),
        (["*"], ["8.8.8.8"], "http://8.8.8.8", False),
        (["*"], ["a"], "http://x.a", True),
    ],
)
def test_which_urls_may_be_requested(allow, deny, url, may):
    assert (WebReach(allow, deny).find_refusal(parse_web_url(url)) is None) is may


def test_refusals_name_the_setting_or_the_port():
    url = parse_web_url("http://a.example:22")

    assert "web.deny" in (WebReach(["*"], ["a.example"]).find_refusal(url) or "")
    assert "web.allow" in (WebReach([]).find_refusal(url) or "")
    assert "22" in (WebReach(["*"]).find_refusal(url) or "")


@pytest.mark.parametrize(
    ("allow", "addresses", "may"),
    [
        (["*"], ["8.8.8.8"], True),
        (["*"], ["8.8.8.8", "10.0.0.1"], False),
        (["*"], ["10.0.0.1"], False),
        (["*"], [], False),
        (["a.example:80"], ["10.0.0.1"], True),
        (["a.example:80"], [], False),
        (["a.example"], ["10.0.0.1"], False),
    ],
)
def test_a_host_is_judged_by_all_of_its_addresses(allow, addresses, may):
    url = parse_web_url("http://a.example")

    assert (WebReach(allow).find_address_refusal(url, addresses) is None) is may


def test_only_an_entry_with_the_port_names_a_url():
    url = parse_web_url("http://a.example:9000")
    reach = WebReach(["*", "a.example:9000", "b.example"])

    assert reach.names(url)
    assert not reach.names(parse_web_url("http://a.example"))
    assert not reach.names(parse_web_url("http://b.example"))
    assert reach.named == ("a.example:9000", "b.example")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http://a.example/ b", "a blank"),
        ("http://a.example/" + "x" * MAX_URL, f"more than {MAX_URL:,}"),
        ("http:", "no host"),
        ("HTTPS:a.example", "no host"),
        ("http:///x", "no host"),
        ("ftp:a.example", "only http"),
        ("ftp://a.example/", "only http"),
        ("a.example", "only http"),
        ("", "only http"),
        ("http://user@a.example/", "a user name"),
        ("http://a.example:x/", "host or the port"),
        ("http://a.example:0/", "the port of"),
        ("http://a..example/", "host of the URL is invalid"),
        ("http://1.2.3.256/", "an invalid address"),
        ("http://\uff41.example/", "compatibility characters"),
        ("http://stra\u00dfe.example/", "read differently"),
    ],
)
def test_the_reason_names_what_is_wrong_with_a_url(text, why):
    with pytest.raises(ValueError, match=why):
        parse_web_url(text)
