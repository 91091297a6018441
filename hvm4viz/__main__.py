"""Where the console script and ``python -m hvm4viz`` come in; an interrupt during imports ends here, too."""

from __future__ import annotations

import sys

from hvm4viz.interrupt import end


def console() -> None:
    """Run the command line; end this process with its exit code."""
    try:
        from hvm4viz.cli import main
        from hvm4viz.streams import reserve

        reserve()
        sys.exit(main())
    except KeyboardInterrupt:
        end()


if __name__ == "__main__":
    console()
