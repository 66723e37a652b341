"""`python -m handrail`: the command line."""

import sys

from handrail.cli.main import main

sys.exit(main())
