"""A run of tests is one whose success shows something."""

import pytest
from tests.policy.guardrails.rails import analysis

from handrail.policy.guardrails.test_commands import runs_tests


@pytest.mark.parametrize(
    "text",
    [
        "pytest",
        "pytest -n auto tests/a.py 2>&1",
        "python -m pytest -q",
        "python3.11 -m unittest discover",
        "python manage.py test shop",
        "uv run pytest -x",
        "poetry run python -m pytest",
        "npm test",
        "npm run test:unit",
        "yarn test --watchAll=false",
        "npx --yes jest src",
        "node --test",
        "go test ./...",
        "cargo test --all",
        "cargo nextest run",
        "./gradlew test",
        "mvn -q verify",
        "make check",
        "make -j4 test",
        "bundle exec rspec",
        "dotnet test",
        "ctest --output-on-failure",
        "cd app && pytest && echo done",
        "timeout 60 pytest",
        "./run_tests.sh",
        "bash scripts/test.sh",
        "python tests.py",
    ],
)
def test_these_are(text):
    assert runs_tests(analysis(text))


@pytest.mark.parametrize(
    "text",
    [
        "pytest || true",
        "pytest; true",
        "pytest | tail -20",
        "pytest &",
        "! pytest",
        "echo $(pytest)",
        "cat <(pytest)",
        "if pytest; then :; fi",
        "pytest\ntrue",
        "pytest --collect-only",
        "pytest --version",
        "cargo test --no-run",
        "make -n test",
        "npm install",
        "npm run build",
        "echo pytest",
        "grep test a.py",
        "test -f a.py",
        "python build.py",
        "git commit -m 'pytest passes'",
        "$RUN pytest",
        "mvn package -DskipTests verify",
    ],
)
def test_these_are_not(text):
    assert not runs_tests(analysis(text))
