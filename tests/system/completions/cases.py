"""Lines, and what the Tab key makes of them in every shell."""

from __future__ import annotations

FOLDERS = ("public", "two words", "proxies", "zone")
FILES = ("serow.toml", "site.pem", "config.ru", "picture.png")

# Each line has one completion only: what a shell shows where there are several is its own affair.
CASES = (
    # Commands and their subcommands.
    ("serow che", "serow check "),
    ("serow compl", "serow completions "),
    ("serow refer", "serow reference "),
    ("serow completions zs", "serow completions zsh "),
    ("serow help supe", "serow help supervise "),
    ("serow upstream wei", "serow upstream weight "),
    # Internal commands stay hidden, and a file is not a folder.
    ("serow manu", "serow manu"),
    ("serow pict", "serow pict"),
    # Folders, with and without the command.
    ("serow pub", "serow public/"),
    ("serow zo", "serow zone/"),
    ("serow ./zo", "serow ./zone/"),
    ("serow two", r"serow two\ words/"),
    ("serow files pub", "serow files public/"),
    ("serow --hidden pub", "serow --hidden public/"),
    ("serow --listen :80 pub", "serow --listen :80 public/"),
    ("serow --workers 2 proxi", "serow --workers 2 proxies/"),
    # Options, also behind a folder with a space.
    ("serow --access-log-f", "serow --access-log-format "),
    ("serow public --hidd", "serow public --hidden "),
    (r"serow two\ words --hidd", r"serow two\ words --hidden "),
    ("serow app config.ru --prel", "serow app config.ru --preload "),
    # Values.
    ("serow --listing js", "serow --listing json "),
    ("serow --listing=js", "serow --listing=json "),
    ("serow proxy --balance lat", "serow proxy --balance latency "),
    ("serow --tls self", "serow --tls self-signed "),
    ("serow --tls site", "serow --tls site.pem "),
    ("serow --tls=site", "serow --tls=site.pem "),
    ("serow run -c ser", "serow run -c serow.toml "),
    ("serow run --config ser", "serow run --config serow.toml "),
    ("serow run --config=ser", "serow run --config=serow.toml "),
    ("serow app conf", "serow app config.ru "),
    ("serow app --chdir proxi", "serow app --chdir proxies/"),
    ("serow app -- start-stop-dae", "serow app -- start-stop-daemon "),
    # Nothing is invented for the rest.
    ("serow nothing che", "serow nothing che"),
    ("serow --workers 1", "serow --workers 1"),
)
