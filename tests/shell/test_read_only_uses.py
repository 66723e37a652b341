"""Uses of programs that only read, and what is like them and is not."""

import pytest
from tests.support.commands import ROOT, WHERE, parser

from handrail.core.commands import CommandClass
from handrail.shell.analyzer import ShellCommandAnalyzer


@pytest.fixture(scope="module")
def classify():
    analyzer = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd))
    return lambda command: analyzer.analyze(command, cwd=ROOT, env={}).safety_class


@pytest.mark.parametrize(
    ("reads", "does_more"),
    [
        ("git clean -nd", "git clean -ndi"),
        ("git add -n .", "git add -n -p ."),
        ("bgzip -dc a.gz", "bgzip -dci a.gz"),
        ("pdftotext a.pdf -", "pdftotext a.pdf"),
        ("tar -xOf a.tar b", "tar -xOf a.tar --to-command=./x b"),
        ("dd if=a count=1", "dd if=a count=1 of=b"),
        ("samtools view -c a.bam", "samtools view -c a.cram"),
        ("gron a.json", "gron https://x.example/a.json"),
        ("pandoc -t plain a.md", "pandoc -t ./x.lua a.md"),
        ("yes | head -3", "yes | head -n -3"),
        ("yes | head -3", 'yes | head -3 "$(cat)"'),
        ("timeout 5 yes | head", "bash -c 'yes; yes' | head"),
        ("awk '{print | \"sort -n\"}' a", "awk -v x=$y '{print | \"touch a\"}' a"),
        ("fd . src -x wc -l", "fd . src -x sed -i s/a/b/"),
        ("fd . src -X ls -l {}", "fd . src -x ls {//}/../../x"),
        ("find . -name a | xargs awk '{print $1}'", "find . -name a | xargs awk"),
        ("mapfile -t a < b", "mapfile -t -C x a < b"),
        (
            "find . -exec sh -c 'wc -l < \"$1\"' _ {} \\;",
            "find . -exec sh -c 'wc -l < \"$2\"' _ {} +",
        ),
        ("bash -c 'grep x \"$1\"' _ a", "bash -c 'shift; grep x \"$1\"' _ a /etc/shadow"),
        ('f() { find "$1"; }; f src', 'f() { find "$1"; }; f -delete'),
        ('[ -f "$(basename a)" ]', '[ -v "$(basename a)" ]'),
        ("declare -A m; read -r k; m[$k]=1", "declare -a m; read -r k; m[$k]=1"),
        ("declare -A m; read -r k; m[$k]=1", "declare -A m; read -r k; echo $((m[$k]))"),
        ("git log $(git rev-parse HEAD)..main", "git log $(git rev-parse HEAD)--output=x"),
        ("x=$(wc -l < a); echo $((x + 1))", "x=$(cat a); echo $((x + 1))"),
        ("for i in a{1..3}; do cat $i; done", "for i in ../a{1..3}; do cat $i; done"),
    ],
)
def test_what_only_reads_is_safe_and_what_looks_like_it_is_not(classify, reads, does_more):
    assert classify(reads) is CommandClass.SAFE
    assert classify(does_more) is not CommandClass.SAFE


def test_a_function_with_the_name_of_a_program_makes_its_output_text(classify):
    assert classify("x=$(date +%s); echo $((x))") is CommandClass.SAFE
    assert classify("date() { cat a; }; x=$(date +%s); echo $((x))") is not CommandClass.SAFE
