"""A guest of which one part ends the process: for the test of what runs it."""

import os
import sys

from tests.parity.guests.parts import part, random


@part
def before():
    return random(3)


@part
def crash():
    sys.stderr.write("the end")
    os._exit(3)


@part
def after():
    return random(2)
