<?php
namespace App;

use Illuminate\Foundation\Support\Providers\RouteServiceProvider;
use Illuminate\Support\Facades\Route;

class Routes extends RouteServiceProvider
{
    public function boot()
    {
        $this->routes(fn () => Route::middleware('web')->group(base_path('routes/web.php')));
    }
}
