"""Which model a name opens, with which key, and how much context it has."""

import asyncio
import json
from dataclasses import replace

import pytest
from tests.models.speaking import KEY, asked, collect, model_on

import handrail
from handrail.config.layers.project_policy import SETTING_RULES
from handrail.core.ports.models import Finish, ModelFailed
from handrail.core.problems import ProblemRaised
from handrail.models import context_size
from handrail.models.context_size import detect_limits
from handrail.models.opening import KeySource, ModelServices, open_model
from handrail.models.profiles import SERVICES, ModelProfile, find_profile
from handrail.models.retries import RetryPolicy
from handrail.models.transport import HttpTransport
from handrail.testing import FakeProvider, ScriptedModel, says

LOCAL = "http://127.0.0.1:1/v1"
BROKEN = ("http://127.0.0.1:99999/v1", "http://[::1/v1", "http://h:0", "https://me:key@h:99999")
SETTINGS = """
model = "local"

[models.local]
wire = "anthropic"
base_url = "{url}"
model = "tiny"
key_env = "LOCAL_KEY"
context_tokens = 50000
"""


async def test_a_table_of_the_user_opens_a_model(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_KEY", KEY)
    async with FakeProvider([says("hello")], key=KEY) as server:
        config = tmp_path / "config.toml"
        config.write_text(SETTINGS.format(url=server.base_url("anthropic")))
        work = tmp_path / "work"
        work.mkdir()
        async with handrail.open(work, store=":memory:", config=config) as rt:
            model = rt.open_model()
            events = await collect(model)
            same = rt.open_model("local")

    assert events[-1].message.text == "hello"
    assert (model.wire, model.limits.context_tokens) == ("anthropic", 50000)
    assert same is model
    assert server.requests[0].headers["x-api-key"] == KEY


async def test_an_object_that_is_no_model_is_refused_by_what_it_lacks(tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        async with handrail.open(tmp_path, store=":memory:", model=ScriptedModel([])):
            pass

    assert raised.value.problem.code == "invalid_arguments"
    assert {"ScriptedModel", "stream"} <= set(raised.value.problem.message.split())
    assert "FakeProvider" in raised.value.problem.hint


@pytest.mark.threat("A05")
async def test_a_workspace_never_sets_a_model(tmp_path):
    folder = tmp_path / ".handrail"
    folder.mkdir()
    text = SETTINGS.format(url="http://127.0.0.1:9")
    (folder / "config.toml").write_text(text)

    async with handrail.open(tmp_path, store=":memory:", config={}) as rt:
        with pytest.raises(ProblemRaised) as raised:
            rt.open_model()
        with pytest.raises(ProblemRaised) as named:
            rt.open_model("local")

    assert raised.value.problem.code == "invalid_arguments"
    assert named.value.problem.code == "invalid_arguments"
    # Trust does not change that.
    assert not SETTING_RULES["model"].can_be_trusted("local")
    assert not SETTING_RULES["models"].can_be_trusted({})


@pytest.mark.threat("A05")
async def test_addresses_in_the_environment_are_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    assert find_profile("anthropic:x", {}).base_url == "https://api.anthropic.com"
    transport = HttpTransport()
    client = transport._client()
    assert not client.trust_env
    assert not client.follow_redirects
    await transport.aclose()


def test_a_service_belongs_to_its_own_key():
    assert len({profile.key_env for profile in SERVICES.values()}) == len(SERVICES)


@pytest.mark.parametrize(
    "named", ["nothing", "anthropic", "local", "script:", "script:none.jsonl?speed=2"]
)
async def test_other_names_are_refused(named):
    with pytest.raises(ProblemRaised) as raised:
        open_model(named, {"local": ModelProfile("anthropic", "http://h")}, _services())

    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    "url", ["ftp://h", "http://", "https://me:key@h", "https://h?key=k", "h", *BROKEN]
)
@pytest.mark.threat("A06")
async def test_an_address_that_could_carry_a_key_is_refused(url):
    with pytest.raises(ProblemRaised) as raised:
        open_model("a", {"a": ModelProfile("anthropic", url, "m")}, _services())

    assert raised.value.problem.field == "base_url"
    assert "key@" not in str(raised.value)


@pytest.mark.parametrize("proxy", ["foo", "ftp://h", "http://me:SECRET@h:99999", "http://[::1"])
async def test_a_proxy_without_an_address_is_refused(proxy):
    profile = ModelProfile("anthropic", "http://h", "m", proxy=proxy)

    with pytest.raises(ProblemRaised) as raised:
        open_model("a", {"a": profile}, _services())

    assert (raised.value.problem.code, raised.value.problem.field) == ("invalid_arguments", "proxy")
    assert "SECRET" not in str(raised.value)


KEYS = {
    "variable": {"key_env": "LOCAL_KEY"},
    "command": {"key_command": ("pass",)},
    "header": {"headers": {"X-Api-Key": "hunter2"}},
}


@pytest.mark.threat("A05")
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "url", ["http://models.example/v1", "http://10.0.0.7:8000", "http://[fe80::1]"]
)
async def test_a_key_is_not_sent_without_encryption(url, key):
    with pytest.raises(ProblemRaised) as raised:
        open_model("a", {"a": ModelProfile("anthropic", url, "m", **KEYS[key])}, _services())

    assert (raised.value.problem.code, raised.value.problem.field) == (
        "invalid_arguments",
        "base_url",
    )
    assert "without encryption" in raised.value.problem.message


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("http://127.0.0.2:8000/v1", KEYS["variable"]),
        ("http://[::1]:8000", KEYS["command"]),
        ("http://LOCALHOST:8000", KEYS["header"]),
        ("https://models.example/v1", KEYS["variable"]),
        ("http://models.example/v1", {"headers": {"x-author": "me", "x-team": "a"}}),
    ],
    ids=["loopback", "ipv6", "localhost", "https", "no-key"],
)
async def test_a_key_is_sent_encrypted_or_to_this_machine(url, more):
    model = open_model("a", {"a": ModelProfile("anthropic", url, "m", **more)}, _services())

    assert model.name == "a"


async def test_a_socks_proxy_without_its_package_is_a_problem(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "socksio", None)
    proxy = "socks5://me:SECRET@127.0.0.1:9"
    profile = ModelProfile("anthropic", LOCAL, "m", proxy=proxy)

    with pytest.raises(ProblemRaised) as raised:
        open_model("a", {"a": profile}, _services())

    assert (raised.value.problem.code, raised.value.problem.field) == ("unavailable", "proxy")
    assert "install httpx2[socks]" in str(raised.value)
    assert "SECRET" not in str(raised.value)


@pytest.mark.threat("A05")
async def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    for name in ("ALL_PROXY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:1")
    async with FakeProvider([says("hello")]) as server:
        profile = ModelProfile(
            "anthropic", server.base_url("anthropic"), "m", context_tokens=50_000
        )
        events = await collect(open_model("a", {"a": profile}, _services()))

    assert events[-1].message.text == "hello"


async def test_a_missing_bundle_is_named(tmp_path):
    bundle = str(tmp_path / "none.pem")
    profile = ModelProfile("anthropic", "https://127.0.0.1:9", "m", ca_bundle=bundle, retries=0)

    with pytest.raises(ModelFailed) as failed:
        await collect(open_model("a", {"a": profile}, _services()))

    assert bundle in failed.value.message
    assert not failed.value.retryable


async def test_a_missing_key_is_a_failure_of_the_request():
    source = KeySource(ModelProfile("anthropic", "http://h", key_env="NOPE"), _services())

    with pytest.raises(ModelFailed) as failed:
        await source.read()

    assert (failed.value.code, failed.value.retryable) == ("auth", False)


async def test_a_key_command_runs_once_and_its_output_is_never_shown(tmp_path):
    from handrail.assembly.models import model_services

    count = tmp_path / "count"
    count.write_text("")
    command = ("sh", "-c", f"echo x >> {count}; echo {KEY}")
    source = KeySource(ModelProfile("anthropic", "http://h", key_command=command), model_services())
    failing = ("sh", "-c", f"echo {KEY}; echo {KEY} >&2; exit 3")
    broken = KeySource(ModelProfile("anthropic", "http://h", key_command=failing), model_services())

    assert [await source.read(), await source.read()] == [KEY, KEY]
    assert count.read_text() == "x\n"
    with pytest.raises(ModelFailed) as failed:
        await broken.read()
    assert KEY not in str(failed.value)
    assert "exit code 3" in str(failed.value)
    assert "Error" not in str(failed.value)


@pytest.mark.threat("A06")
@pytest.mark.parametrize(
    ("printed", "key"),
    [
        (f"{KEY}\nuser: bob\n", KEY),
        (f"\n {KEY} \r\nnote", KEY),
        ("sk-a\x1bSECRET", None),
        ("sk-é", None),
    ],
    ids=["notes", "blanks", "control", "not-ascii"],
)
async def test_a_key_is_the_first_line_and_can_be_sent(printed, key):
    async def run(command):
        return printed

    services = replace(_services({"K": printed.strip()}), run_command=run)
    source = KeySource(ModelProfile("anthropic", "http://h", key_command=("pass",)), services)
    variable = KeySource(ModelProfile("anthropic", "http://h", key_env="K"), services)

    if key is not None:
        assert await source.read() == key
    else:
        await _refused_key(source, "key_command")
    # A variable with several lines is a mistake, not a convention.
    await _refused_key(variable, "K")


async def _refused_key(source, setting):
    with pytest.raises(ModelFailed) as failed:
        await source.read()
    assert failed.value.code == "auth"
    assert setting in failed.value.message
    assert "sk-" not in str(failed.value)


@pytest.mark.threat("A06")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-auth", "SECRET\nfoo"),
        ("x-auth", "SECRET\x00"),
        ("x-auth", " SECRET"),
        ("x auth", "SECRET"),
        ("x", "é"),
    ],
    ids=["newline", "nul", "blank", "name", "not-ascii"],
)
async def test_a_header_that_cannot_be_sent_is_refused_and_not_shown(name, value):
    profile = ModelProfile("anthropic", "http://127.0.0.1:9", "m", headers={name: value})

    with pytest.raises(ProblemRaised) as raised:
        open_model("a", {"a": profile}, _services())

    assert (raised.value.problem.code, raised.value.problem.field) == (
        "invalid_arguments",
        "headers",
    )
    assert "SECRET" not in str(raised.value)


@pytest.mark.threat("A06")
async def test_what_a_library_says_about_headers_is_not_shown():
    headers = {"x-auth": "SECRET\nfoo"}
    async with FakeProvider([says("hello")]) as server:
        model = model_on(server, "anthropic", headers=headers, retries=RetryPolicy(requests=0))
        with pytest.raises(ModelFailed) as failed:
            await collect(model)

    assert "headers that cannot be sent" in str(failed.value)
    assert "LocalProtocolError" not in str(failed.value)
    assert "SECRET" not in str(failed.value)


async def test_the_extra_is_named_where_httpx_is_missing(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "httpx2", None)

    with pytest.raises(ProblemRaised) as raised:
        open_model("ollama:x", {}, _services())

    assert "handrail[models]" in (raised.value.problem.hint or "")


class _Server:
    """Answers questions for the context size."""

    def __init__(self, **answers):
        self.answers = {path.replace("__", "/"): value for path, value in answers.items()}
        self.asked = []

    async def get(self, url, headers):
        return self._reply(url)

    async def post(self, url, headers, body):
        return self._reply(url)

    def _reply(self, url):
        self.asked.append(url)
        value = next((v for end, v in self.answers.items() if url.endswith(end)), None)
        return _Reply(value)


class _Reply:
    def __init__(self, value):
        self.headers = {}
        self.status = 404 if value is None else 200
        self.value = value

    async def chunks(self):
        yield json.dumps(self.value).encode()

    async def aclose(self):
        return


SHOWN = {"model_info": {"llama.context_length": 131072}, "parameters": "stop x"}


@pytest.mark.parametrize(
    ("answers", "context"),
    [
        ({"api__show": {**SHOWN, "parameters": "temperature 1\nnum_ctx 32768"}}, 32768),
        (
            {"api__show": SHOWN, "api__ps": {"models": [{"name": "m", "context_length": 65536}]}},
            65536,
        ),
        ({"api__show": SHOWN}, 131072),
        ({"v1__models": {"data": [{"id": "m", "max_model_len": 40960}]}}, 40960),
        ({"api__v0__models": {"data": [{"id": "m", "loaded_context_length": 20000}]}}, 20000),
        ({"v1__models": {"data": [{"id": "m", "max_model_len": -5}, {"id": "other"}]}}, None),
        ({}, None),
    ],
)
async def test_the_context_size_is_asked_from_the_server(monkeypatch, answers, context):
    limits = await _detect(monkeypatch, answers)

    assert limits.context_tokens == (context or 128_000)
    assert limits.context_known is (context is not None)


async def test_an_ollama_server_that_would_cut_the_prompt_is_refused(monkeypatch):
    answers = {"api__show": SHOWN, "api__ps": {"models": [{"name": "m", "context_length": 4096}]}}

    with pytest.raises(ModelFailed) as failed:
        await _detect(monkeypatch, answers)

    assert failed.value.code == "invalid_request"
    assert "OLLAMA_CONTEXT_LENGTH" in str(failed.value)


async def test_an_ollama_server_is_checked_until_it_passes(monkeypatch):
    loaded = {"name": "m", "context_length": 4096}
    server = _Server(api__show=SHOWN, api__ps={"models": [loaded]})
    model = open_model("m", {"m": ModelProfile("openai-chat", LOCAL, "m")}, _services())
    monkeypatch.setattr(HttpTransport, "get", lambda _, url, headers: server.get(url, headers))
    monkeypatch.setattr(HttpTransport, "post", lambda _, *given: server.post(*given))

    for _ in range(2):
        with pytest.raises(ModelFailed):
            await model.prepare()
    loaded["context_length"] = 65536
    await model.prepare()
    await model.aclose()

    assert model.limits.context_tokens == 65536


async def test_a_slow_key_command_runs_once(monkeypatch):
    runs = []

    async def run(command):
        runs.append(command)
        # Longer than a server may take to answer.
        await asyncio.sleep(0.1)
        return KEY

    monkeypatch.setattr(context_size, "_ASK_S", 0.01)
    services = replace(_services(), run_command=run)
    profile = ModelProfile("openai-chat", LOCAL, "m", key_command=("pass",))
    model = open_model("m", {"m": profile}, services)

    await asyncio.gather(model.prepare(), model.prepare())
    await model.aclose()

    assert len(runs) == 1


async def _detect(monkeypatch, answers):
    from handrail.core.ports.models import ModelLimits
    from handrail.models.client import Endpoint

    server = _Server(**answers)
    transport = HttpTransport()
    monkeypatch.setattr(transport, "get", server.get)
    monkeypatch.setattr(transport, "post", server.post)
    profile = ModelProfile("openai-chat", "http://127.0.0.1:1/v1", "m")
    endpoint = Endpoint(profile.base_url, _no_key, {})
    return await detect_limits("m", profile, ModelLimits(), endpoint, transport)


async def _no_key():
    return None


def _services(environ=None):
    async def run(command):
        raise OSError

    def read(path):
        raise FileNotFoundError(2, "No such file")

    return ModelServices(environ or {}, run, read)


async def test_a_model_object_is_used_as_it_is(tmp_path):
    class Custom:
        name, wire, limits = "mine", "custom", None

        def stream(self, request):
            raise AssertionError("nothing is asked")

        async def aclose(self):
            raise AssertionError("it belongs to its maker")

    mine = Custom()
    async with handrail.open(tmp_path, store=":memory:", config={}, model=mine) as rt:
        assert rt.open_model() is mine


async def test_a_script_is_opened_by_its_name(tmp_path):
    script = tmp_path / "s.jsonl"
    script.write_text('{"text": "hi"}\n')
    name = f"script:{script}?wire=gemini&chunk=1"
    async with handrail.open(tmp_path, store=":memory:", config={}, model=name) as rt:
        model = rt.open_model()
        events = await collect(model, asked())

    assert events[-1].finish is Finish.END
    assert (model.wire, model.scripted) == ("gemini", True)
