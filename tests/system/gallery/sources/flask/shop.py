"""Notes with a login, uploads, a stream of events and a form; as Flask's tutorial has them."""

import hashlib
import io
import os
import sqlite3

from flask import Flask, Response, abort, flash, g, get_flashed_messages, redirect, request, send_file, session, url_for

app = Flask(__name__)
app.secret_key = "of the gallery"
DATABASE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "notes.db")


def database():
    if "database" not in g:
        g.database = sqlite3.connect(DATABASE, timeout=30)
    return g.database


FILE = f"{DATABASE}.bin"
if not os.path.exists(FILE):
    with open(f"{FILE}.{os.getpid()}", "wb") as file:
        file.write(b"0123456789abcdef" * 65536 * 20)
    os.rename(file.name, FILE)

with sqlite3.connect(DATABASE, timeout=30) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT, version INTEGER DEFAULT 1)")


@app.teardown_appcontext
def close(_):
    if "database" in g:
        g.database.close()


@app.get("/")
def index():
    notes = database().execute("SELECT id, text FROM notes WHERE text LIKE ?", (f"%{request.args.get('q', '')}%",)).fetchall()
    items = "".join(f'<li><a href="{url_for("note", number=number)}">{text}</a>' for number, text in notes)
    return f"<h1>Notes of {session.get('user', 'nobody')}</h1>{''.join(get_flashed_messages())}<ul>{items}</ul>" + " " * 2000


@app.route("/login", methods=["GET", "POST"])
def login():
    if request.method == "GET":
        return '<form method="post"><input name="user"><input name="password" type="password"></form>'
    if request.form["password"] != "secret":
        abort(403)
    session["user"] = request.form["user"]
    flash("logged in")
    return redirect(url_for("index"))


@app.post("/logout")
def logout():
    session.clear()
    return redirect(url_for("index"))


@app.post("/notes")
def create():
    if "user" not in session:
        abort(401)
    with database() as base:
        number = base.execute("INSERT INTO notes (text) VALUES (?)", (request.form["text"],)).lastrowid
    return redirect(url_for("note", number=number))


@app.route("/notes/<int:number>", methods=["GET", "POST"])
def note(number):
    if request.method == "POST":
        with database() as base:
            changed = base.execute("UPDATE notes SET text = ?, version = version + 1 WHERE id = ? AND version = ?",
                                   (request.form["text"], number, request.form["version"])).rowcount
        return ("changed", 200) if changed else ("somebody else was faster", 409)
    found = database().execute("SELECT text, version FROM notes WHERE id = ?", (number,)).fetchone() or abort(404)
    return {"text": found[0], "version": found[1], "url": url_for("note", number=number, _external=True)}


@app.post("/upload")
def upload():
    content = request.files["file"].read()
    return {"length": len(content), "digest": hashlib.sha256(content).hexdigest(), "name": request.files["file"].filename}


@app.get("/download")
def download():
    return send_file(FILE, mimetype="application/octet-stream")


@app.get("/generated")
def generated():
    return send_file(io.BytesIO(b"x" * 1_000_000), mimetype="text/plain", max_age=60)


@app.get("/events")
def events():
    return Response((f"data: {number}\n\n" for number in range(1000)), mimetype="text/event-stream")
