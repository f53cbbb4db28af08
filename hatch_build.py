"""Make the JupyterLab extension while a wheel is built; of the package, only the player's script is loaded."""

import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
# Packages whose own modules would need NumPy, which is not there while a wheel is built.
PACKAGES = ("", "._engine", "._engine.base", "._engine.core", ".viz", ".viz.draw", ".viz.notebook", ".viz.read")


class LabExtension(BuildHookInterface):
    """Adds the extension to the files that a wheel puts beside Python's."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the extension and name its folder."""
        for name in (f"nbautograd{package}" for package in PACKAGES):
            folder = HERE.joinpath(*name.split("."))
            spec = spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
            sys.modules[name] = module_from_spec(spec)  # which is not run
        from nbautograd.viz.notebook import export

        self.folder = tempfile.TemporaryDirectory()
        place = export.write_lab_extension(Path(self.folder.name), self.metadata.version)
        build_data["shared_data"][str(place)] = "share/jupyter/labextensions/nbautograd"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel has."""
        self.folder.cleanup()
