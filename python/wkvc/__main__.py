"""python -m wkvc: the wkvc command."""

import sys

from . import _library

sys.exit(_library.command(sys.argv[1:]))
