"""``python -m nbautograd``: runs the command ``nbautograd``."""

import sys

from nbautograd.cli import main

if __name__ == "__main__":
    sys.exit(main())
