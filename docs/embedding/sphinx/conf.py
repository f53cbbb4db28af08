"""Settings of a Sphinx site whose pages play passes."""

project = "Passes"
extensions = ["nbautograd.viz.sphinx"]
