<!doctype html>
<html lang=en><head><title>Log in</title><link rel=icon href=/icon.svg><link rel=stylesheet href=/app.css></head>
<body><h1>Log in</h1>@if ($wrong) <p>wrong</p> @endif
<form method=post>@csrf <input name=user><input name=password type=password><button>Log in</button></form></body></html>
