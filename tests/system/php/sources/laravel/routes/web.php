<?php
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;

Route::get('/', fn () => view('page', ['title' => 'Start', 'text' => url('/hello/Grüße')]));
Route::get('/hello/{name}', fn (Request $request, string $name) => view('page', ['title' => "Hello $name", 'text' => $request->fullUrl()]));
Route::get('/login', fn () => view('login', ['wrong' => false]));
Route::post('/login', function (Request $request) {
    $request->validate(['user' => 'required|max:20', 'password' => 'required']);
    if ($request->input('password') !== 'secret') {
        return response()->view('login', ['wrong' => true], 401);
    }
    $request->session()->regenerate();
    $request->session()->put('user', $request->input('user'));
    return redirect('/private');
});
Route::get('/private', fn (Request $request) => view('page', ['title' => 'Private', 'text' => 'Logged in as ' . ($request->session()->get('user') ?? abort(403))]));
Route::post('/upload', function (Request $request) {
    $file = $request->file('file');
    $file->move(public_path('uploads'), $file->getClientOriginalName());
    return response()->json(['size' => filesize(public_path('uploads/' . $file->getClientOriginalName()))], 201);
});
Route::get('/stream', fn () => response()->stream(function () { for ($number = 0; $number < 1000; ++$number) echo "line $number\n"; }, 200, ['Content-Type' => 'text/plain']));
Route::get('/file', fn () => response()->download(public_path('app.css')));
Route::get('/fails', fn () => throw new RuntimeException('of the test'));
