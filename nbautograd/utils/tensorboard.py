"""``torch.utils.tensorboard`` is out of scope, and says so."""

raise ImportError(
    "nbautograd has no utils.tensorboard: it is out of scope of a library for seeing and learning. Write the values "
    "that you want to follow into a list and plot it, or use tensorboardX, whose SummaryWriter takes floats "
    "and NumPy arrays."
)
