"""Try arguments, files, texts and lines that no one would write: a clear error or a right answer, never anything else.

pytest tests/product/fuzz                                  the quick run, the same every time
pytest tests/product/fuzz --hypothesis-profile=long -x     much longer, and different every time
"""
