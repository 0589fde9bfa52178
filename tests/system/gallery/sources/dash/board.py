"""A field, and its text in capitals."""

import os

from dash import Dash, Input, Output, dcc, html

board = Dash(__name__, requests_pathname_prefix=os.environ["PREFIX"], routes_pathname_prefix="/")
board.layout = html.Div([dcc.Input(id="text", value="a"), html.Div(id="output")])
server = board.server


@board.callback(Output("output", "children"), Input("text", "value"))
def capitals(text):
    return text.upper()
