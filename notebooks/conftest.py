"""Choose the notebooks to test here: their outputs depend on the installed packages."""

from importlib.util import find_spec

from nbautograd import cuda

collect_ignore_glob = []
if find_spec("torch") is None:
    collect_ignore_glob.append("*14_pytorch_models.ipynb")
if cuda.is_available():
    collect_ignore_glob.append("*13_cuda.ipynb")  # its stored outputs are those of a machine without a GPU
