"""python -m wkvc: the wkvc command."""

import signal
import sys

from . import _library

# Python's own handler would wait for the command to return.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.exit(_library.command(sys.argv[1:]))
