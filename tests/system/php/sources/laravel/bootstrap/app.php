<?php
foreach (['Illuminate', 'Illuminate/Foundation', 'Carbon', 'Dotenv', 'Monolog', 'Symfony/Component/Console'] as $name) {
    if (stream_resolve_include_path("$name/autoload.php")) {
        require_once "$name/autoload.php";
    }
}
spl_autoload_register(function (string $class) {
    if (str_starts_with($class, 'App\\')) {
        require __DIR__ . '/../app/' . strtr(substr($class, 4), '\\', '/') . '.php';
    }
});
$app = new Illuminate\Foundation\Application(dirname(__DIR__));
$app->singleton(Illuminate\Contracts\Http\Kernel::class, App\Http\Kernel::class);
$app->singleton(Illuminate\Contracts\Console\Kernel::class, Illuminate\Foundation\Console\Kernel::class);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);
return $app;
