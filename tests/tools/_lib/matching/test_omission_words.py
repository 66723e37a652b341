"""Comments that say without dots that lines are left out, and comments with the same words."""

import pytest

from handrail.tools._lib.matching.omission import find_omission

BODY = "def work(job):\n    check(job)\n    first(job)\n    second(job)\n    third(job)\n    return job\n"
SAID = """
# rest of the function stays the same | # existing code | // rest unchanged | # (unchanged)
# the remaining lines stay as they are | # keep the rest as is | # same as before | [rest of file]
# code omitted for brevity | # everything else stays the same | <!-- existing content -->
{/* existing JSX */} | # [unchanged code] | # the code below is not changed | # and the rest stays
# Rest bleibt unverändert | # le reste est inchangé | # 其余代码保持不变 | # resto del código sin cambios
"""
SENTENCES = """
# The rest of the queue stays in order. | # existing rows are kept | # Same origin requests only
# keep existing connections open for reuse | # remaining time in seconds | # see above for why
# unchanged files are skipped by the cache | # other | # TODO: remaining error cases need tests
"""


def split(text):
    return [one.strip() for line in text.strip().split("\n") for one in line.split("|")]


@pytest.mark.parametrize("comment", split(SAID))
def test_a_comment_in_place_of_lines_means_them(comment):
    new = f"def work(job, log):\n    check(job)\n    {comment}\n"

    assert find_omission(BODY, new, "a.py") == comment


@pytest.mark.parametrize("comment", split(SENTENCES))
def test_a_sentence_above_new_code_is_a_comment(comment):
    new = f"def work(job, log):\n    check(job)\n    {comment}\n    return run(job)\n"

    assert find_omission(BODY, new, "a.py") is None


def test_a_comment_that_the_old_text_has_is_no_omission():
    old = "a()\n# unchanged\nb()\nc()\nd()\n"

    assert find_omission(old, "a()\n# unchanged\n", "a.py") is None


def test_dots_for_one_line_mean_it_only_if_they_say_so():
    old, bare, said = "a()\nb()\nc()\n", "a()\n# ...\nc()\n", "a()\n# ... rest\nc()\n"

    assert find_omission(old, bare, "a.py") is None
    assert find_omission(old, said, "a.py") == "# ... rest"


def test_a_heading_of_a_document_is_no_comment():
    assert find_omission("a\nb\nc\n", "# Rest of the guide\n", "a.md") is None


CODE = """
a.py    | 'remaining': n - used,
a.py    | '--ignore-existing',
a.py    | *rest, last = parts
a.rb    | *rest
a.c     | *existing = 0;
a.c     | #include "existing.h"
a.rs    | !existing.is_empty()
a.css   | #rest { x: 1 }
a.sh    | --ignore-existing
.ignore | !existing/
a.tsx   | {...rest}
a.ts    | ...rest
a.ts    | ...existing,
a.toml  | [rest]
a.py    | # TODO: port the rest
a.yml   | # remaining jobs live in ci.yml
Makefile| # the rest is built by implicit rules
a.py    | # validation continues in save()
a.ts    | // eslint-disable-next-line no-rest-spread
a.rs    | /// Opens an existing file.
"""


@pytest.mark.parametrize("row", CODE.strip().split("\n"))
def test_code_and_comments_with_the_same_words_replace_lines(row):
    path, line = (part.strip() for part in row.split("|", 1))

    assert find_omission("a()\nb()\nc()\nd()\n", f"a()\n{line}\n", path) is None


def test_a_shorter_comment_leaves_no_code_out():
    old = "# Updates rows\n# of the table\n# that exist.\nrun()\n"

    assert find_omission(old, "# existing code\nrun()\n", "a.py") is None


def test_a_heading_above_new_lines_is_no_omission():
    old = "a {}\nb {}\nc {}\n"

    assert find_omission(old, "/* Other styles */\nd {}\n", "a.css") is None
