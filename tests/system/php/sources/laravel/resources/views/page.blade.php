<!doctype html>
<html lang=en><head><title>{{ $title }}</title><link rel=icon href=/icon.svg><link rel=stylesheet href=/app.css></head>
<body><h1>{{ $title }}</h1><p>{{ $text }}</p></body></html>
