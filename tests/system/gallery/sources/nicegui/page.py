"""A button that counts."""

from fastapi import FastAPI
from nicegui import ui

app = FastAPI()


@ui.page("/")
def index():
    label = ui.label("Grüße")
    ui.button("Count", on_click=lambda: label.set_text("counted"))


ui.run_with(app, storage_secret="of the gallery")
