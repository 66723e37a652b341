"""Path types that validation would hide, alternatives that look alike, and touches as authors
write them."""

import dataclasses
import json
from typing import Annotated, Any, NamedTuple, NotRequired

import pytest
from pydantic import BaseModel, PlainValidator, SkipValidation, create_model, field_validator
from pydantic.dataclasses import dataclass as checked_dataclass
from typing_extensions import TypeAliasType, TypedDict

import handrail
from handrail import Effects, Output, Params, ReadPath, Tool, WritePath
from handrail.core.footprint import Footprint, Touch

OUTSIDE = "../../etc/passwd"
Unchecked = Annotated[ReadPath, PlainValidator(lambda given: given)]


@dataclasses.dataclass
class InDataclass:
    path: Unchecked


@checked_dataclass
class InValidatedDataclass:
    path: ReadPath

    @field_validator("path", mode="plain")
    @classmethod
    def _take(cls, given: Any) -> Any:
        return given


class InTypedDict(TypedDict):
    path: NotRequired[Unchecked]


class InNamedTuple(NamedTuple):
    path: Unchecked


class InModel(BaseModel):
    path: ReadPath


HIDDEN = {
    "dataclass": InDataclass,
    "validated dataclass": InValidatedDataclass,
    "TypedDict": InTypedDict,
    "named tuple": InNamedTuple,
    "model": Annotated[InModel, PlainValidator(lambda given: given)],
    "skipped model": list[SkipValidation[InModel]],
    "one of a tuple": tuple[ReadPath, SkipValidation[ReadPath]],
    "one of a union": list[ReadPath] | Unchecked,
    "alias": TypeAliasType("alias", Unchecked),
}


def own_tool(argument: Any, effects: Effects = Effects.READS_PATHS) -> Tool[Any]:
    class Own(Tool[Any]):
        name = "own"
        summary = "s"
        params = create_model("OwnParams", __base__=Params, ok=(ReadPath, "a"), given=argument)

        async def run(self, args, ctx):
            return Output(" ".join(sorted(ctx.places)))

    Own.effects = effects
    return Own()


@pytest.mark.finding("F01")
@pytest.mark.parametrize("kind", HIDDEN)
async def test_a_path_type_that_validation_hides_is_an_error(kind, open_runtime):
    async with open_runtime() as rt:
        with pytest.raises(TypeError, match="plain validator hides the path type"):
            rt.register(own_tool((HIDDEN[kind], ...)))


@pytest.mark.finding("F01")
async def test_a_plain_validator_beside_paths_is_none_of_our_business(open_runtime):
    class Beside(BaseModel):
        paths: list[ReadPath]
        count: Annotated[int, PlainValidator(int)] = 0

    async with open_runtime() as rt:
        rt.register(own_tool((Beside, ...)))
        inside = await rt.call("own", {"given": {"paths": ["b"], "count": "4"}})
        outside = await rt.call("own", {"given": {"paths": [OUTSIDE]}})

    assert inside.text == "given.paths[0] ok"
    assert (outside.problem.code, outside.problem.field) == ("outside_workspace", "given.paths[0]")


ALIKE = {
    "lists": (list[ReadPath] | list[InModel], [{"path": "b"}], "given[0].path"),
    "dicts": (dict[str, ReadPath] | dict[str, list[ReadPath]], {"k": ["b"]}, "given['k'][0]"),
    "tuples": (tuple[ReadPath] | tuple[ReadPath, int], ["b", 1], "given[0]"),
}


@pytest.mark.finding("F01")
@pytest.mark.parametrize("kind", ALIKE)
async def test_alternatives_of_one_shape_are_told_apart_by_what_is_in_them(kind, open_runtime):
    argument, given, name = ALIKE[kind]
    outside = json.loads(json.dumps(given).replace('"b"', json.dumps(OUTSIDE)))

    async with open_runtime() as rt:
        rt.register(own_tool((argument, ...)))
        found = await rt.call("own", {"given": given})
        refused = await rt.call("own", {"given": outside})

    assert found.text == f"{name} ok"
    assert (refused.problem.code, refused.problem.field) == ("outside_workspace", name)


@pytest.mark.finding("F01")
async def test_a_function_gets_the_paths_of_the_alternative_that_was_given(workspace, open_runtime):
    @handrail.tool
    def own(given: list[ReadPath] | list[InModel]) -> str:
        return str([one if isinstance(one, str) else one.path for one in given])

    async with open_runtime() as rt:
        rt.register(own)
        texts = [(await rt.call("own", {"given": [one]})).text for one in ("b", {"path": "b"})]

    assert texts == [str([str(workspace.root / "b")])] * 2


@pytest.mark.finding("F01")
@pytest.mark.parametrize(
    ("access", "effects", "code"),
    [
        ("write", Effects.WRITES_PATHS, "needs_approval"),
        ("write", Effects.READS_PATHS, "internal"),
        ("change", Effects.WRITES_PATHS, "internal"),
    ],
)
async def test_an_access_that_is_written_as_a_word_counts(access, effects, code, open_runtime):
    kind = WritePath if effects is Effects.WRITES_PATHS else ReadPath
    tool = own_tool((kind, ...), effects)
    tool.footprint = lambda args: Footprint((Touch(f"file:{args.given}", access),))

    async with open_runtime() as rt:
        rt.register(tool)
        result = await rt.call("own", {"given": "b"})

    assert result.problem.code == code
