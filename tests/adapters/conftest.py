"""The tests of one framework each are in `frameworks`, and run where the frameworks are installed, by
`make test-adapters`; elsewhere they are not collected.
"""

from tests.support.machine import frameworks_installed

collect_ignore = [] if frameworks_installed() else ["frameworks"]
