"""Placeholders are found whatever comment they stand in, and nobody's own words are."""

import time

import pytest

from handrail.policy.guardrails.omissions import is_omission, omissions

MEANT = """\
# rest of code unchanged
# rest of the code unchanged
// ... rest of the code remains the same ...
# ... existing code ...
// ... (unchanged)
# (rest of the file stays the same)
/* ... other methods unchanged ... */
# remaining code omitted for brevity
// existing code here
# ... keep existing code ...
// [rest of the implementation unchanged]
{/* ... existing JSX ... */}
// ... (rest of implementation)
# ... rest ...
<!-- rest of the file unchanged -->
-- rest of the code remains unchanged
; rest of the function is the same as before
# Rest of the code...
# ...rest of the class...
// Rest of the function remains unchanged.
    # ... existing methods remain unchanged ...
# the rest of the code is unchanged
// …existing code…
# [Previous code remains the same]
/* existing styles remain the same */
// ... existing imports
# --- rest of the file unchanged ---
// keep the rest of the code as is
# Other functions remain the same
# ... (previous code)
// all other methods remain unchanged
# (remaining implementation unchanged)
\"\"\"... rest of the module unchanged ...\"\"\"
# ... unchanged ...
% rest of the code as before
    // REST OF THE CODE UNCHANGED
#... the rest of your code here ...
"""
OWN = """\
# The rest of the code assumes that x is set
# ...
# existing code
# Remaining tests
// unchanged
// same as before
# file unchanged
# content is unchanged
# same as above
# read the rest of the file
// rest of the arguments
# rest of the file
x = 1  # rest of code unchanged
rest of code unchanged
# the rest of the file is unchanged by this function
# TODO: keep existing code paths working
# your code here
print("# rest of code unchanged")
# existing files are skipped
# leave other files alone
# the same as the original
# other fields are ignored
# existing content is left unchanged
# other tests are skipped
# unchanged since 2019
# omitted
# the rest is history
# remaining bytes of the file
// if the existing code is found, reuse it
# existing content must stay
// Other methods
# ... and so on
# All other tests here use the fixture
# previous code: 4
- rest of the code unchanged in this example
# Existing config here wins over defaults
#!/usr/bin/env python
x = ...
"""


@pytest.mark.parametrize("line", MEANT.splitlines())
def test_a_placeholder_is_found(line):
    assert is_omission(line)


@pytest.mark.parametrize("line", OWN.splitlines())
def test_what_somebody_says_themselves_is_left_alone(line):
    assert not is_omission(line)


def test_texts_about_code_may_show_one_except_where_nobody_sees_it():
    shown = b"```js\n// ... existing code ...\n```\n"
    hidden = b"# Title\n<!-- rest of the document unchanged -->\n"

    assert list(omissions(shown, "docs/guide.md")) == []
    assert list(omissions(hidden, "docs/guide.md")) == [b"<!-- rest of the document unchanged -->"]
    assert list(omissions(shown, "guide.js")) == [b"// ... existing code ..."]


@pytest.mark.parametrize(
    "line",
    [
        "# rest of code " + "." * 180,
        "# rest of the code " + ". " * 80 + "same",
        "# ... " + "the " * 45 + "same",
        "# " + "existing " * 22,
        "# existing code " + "is " * 55 + "same x",
        "/" * 190 + "same",
    ],
)
def test_no_line_takes_long(line):
    # The best of some: a collection of garbage may fall into one of them.
    assert min(cpu_seconds(line) for _ in range(5)) < 0.05


def cpu_seconds(line):
    started = time.thread_time()
    is_omission(line)
    return time.thread_time() - started
