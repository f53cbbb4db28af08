"""The long profile has to be known before pytest reads its options."""

from hypothesis import settings

settings.register_profile("long", print_blob=True)

collect_ignore = ["atheris_files.py"]  # a program, of a package that few have
