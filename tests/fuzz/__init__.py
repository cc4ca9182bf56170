"""Random input for the parts that read foreign text without Spark, guided by what code it reaches.

`python -m tests.fuzz --seconds 60 [TARGET..]`; `make fuzz` installs what it needs.
"""
