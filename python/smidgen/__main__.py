"""The command: ``python -m smidgen``, or ``smidgen``."""

from __future__ import annotations

import sys


def main() -> None:
    from . import _core

    sys.exit(_core.main(["smidgen", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
