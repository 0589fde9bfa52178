"""A table of books."""

import os
import sqlite3

from datasette.app import Datasette

if not os.path.exists("library.db"):
    temporary = f"library.{os.getpid()}"
    with sqlite3.connect(temporary) as connection:
        connection.execute("CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT)")
        connection.executemany("INSERT INTO books (title) VALUES (?)", ((f"{'grün' if number % 2 else 'tree'} {number}",) for number in range(20_000)))
    os.rename(temporary, "library.db")

app = Datasette(["library.db"], settings={"base_url": os.environ["BASE_URL"]}).app()
