<?php
return [
    'name' => 'Site', 'env' => 'production', 'debug' => false, 'url' => null, 'timezone' => 'UTC', 'locale' => 'en', 'fallback_locale' => 'en',
    'key' => env('APP_KEY'), 'cipher' => 'AES-256-CBC',
    'providers' => [
        Illuminate\Cookie\CookieServiceProvider::class, Illuminate\Encryption\EncryptionServiceProvider::class, Illuminate\Filesystem\FilesystemServiceProvider::class,
        Illuminate\Foundation\Providers\FoundationServiceProvider::class, Illuminate\Session\SessionServiceProvider::class, Illuminate\Cache\CacheServiceProvider::class,
        Illuminate\Translation\TranslationServiceProvider::class, Illuminate\Validation\ValidationServiceProvider::class, Illuminate\View\ViewServiceProvider::class,
        App\Routes::class,
    ],
    'aliases' => [],
];
