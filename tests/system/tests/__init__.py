"""Tests of the tests: `python3 -m unittest discover -s tests/system/tests -t tests`."""
