"""Serow beside nginx on the same folder: `requests` is the table, `differences` judges where the answers part."""
