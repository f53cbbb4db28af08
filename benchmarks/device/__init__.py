"""Run the measurements on a CUDA device, unattended: see ``benchmarks/on_device.py``, the command.

`schedule` runs steps as processes and writes down what they say, `steps` lists them, `suite` runs tests,
`notebook` the course's, `speed`, `rows`, `side` and `counts` measure, `facts` says what machine it is and `wheels` what
it lacks, `report` makes the page, and `stand_in` rehearses all of it without a device.
"""
