<?php

namespace Serow;

/** An application, of the kind that the value of its file is. */
abstract class Application
{
    /** Variables that are the same in all requests. @var array<string, string> */
    public static array $constants = [];

    /** Responds to a request. */
    abstract public function respond(Request $request, Exchange $exchange): void;

    /** The worker takes no more requests. */
    public function end(): void
    {
    }

    /** Runs the file, and recognises its value. */
    public static function load(string $name): self
    {
        $file = \realpath($name);
        if ($file === false || !\is_file($file)) {
            throw new Unusable("$name: no such file");
        }
        $script = '/' . \basename($file);
        self::$constants = ['GATEWAY_INTERFACE' => 'CGI/1.1', 'SERVER_SOFTWARE' => 'Serow', 'DOCUMENT_ROOT' => \dirname($file),
            'SCRIPT_FILENAME' => $file, 'SCRIPT_NAME' => $script, 'PHP_SELF' => $script];
        foreach (['SCRIPT_FILENAME', 'SCRIPT_NAME', 'PHP_SELF'] as $variable) {
            $_SERVER[$variable] = self::$constants[$variable];
        }
        $_SERVER['argv'] = [$file];
        self::prepareVendor($file);
        Output::keep();
        try {
            $value = (static fn () => require $file)();
        } finally {
            $printed = Output::kept();
        }
        $application = self::of($value, $name) ?? throw new Unusable(self::refusal($name, $value, $printed));
        if ($printed !== '') {
            Output::log($printed);
        }
        return $application;
    }

    private static function of(mixed $value, string $name): ?self
    {
        return match (true) {
            $value instanceof \Illuminate\Contracts\Foundation\Application => OctaneApplication::of($value, $name),
            $value instanceof \Psr\Http\Server\RequestHandlerInterface => new PsrApplication($value->handle(...)),
            $value instanceof \Symfony\Component\HttpKernel\HttpKernelInterface => SymfonyApplication::ofKernel($value),
            \is_object($value) && \is_callable($value), \is_array($value) && \is_callable($value) => self::ofCallable($value, $name),
            default => null,
        };
    }

    /** Of a callable, the type of its first parameter decides. */
    private static function ofCallable(callable $callable, string $name): ?self
    {
        $call = \Closure::fromCallable($callable);
        $function = new \ReflectionFunction($call);
        $type = ($function->getParameters()[0] ?? null)?->getType();
        $class = $type instanceof \ReflectionNamedType ? $type->getName() : null;
        if ($class !== null && \is_a($class, \Psr\Http\Message\RequestInterface::class, true)) {
            return new PsrApplication($call);
        }
        if ($class !== null && \is_a($class, \Symfony\Component\HttpFoundation\Request::class, true)) {
            return new SymfonyApplication($call);
        }
        if (SymfonyApplication::isOfRuntime()) {
            $value = SymfonyApplication::byRuntime($call);
            return $value instanceof \Closure ? null : self::of($value, $name);
        }
        return \in_array($class, [null, 'array', 'mixed', 'iterable'], true) && $function->getNumberOfRequiredParameters() <= 2
            ? new PlainApplication($call) : null;
    }

    /**
     * `autoload_runtime.php` of symfony/runtime runs the application itself, unless Composer's autoloader is there already. Files
     * that Laravel makes the application with rely on that.
     */
    private static function prepareVendor(string $file): void
    {
        for ($folder = \dirname($file); !\is_file("$folder/vendor/autoload.php"); $folder = \dirname($folder)) {
            if ($folder === \dirname($folder)) {
                return;
            }
        }
        if (\is_file("$folder/vendor/autoload_runtime.php") || \is_dir("$folder/vendor/laravel/framework")) {
            require_once "$folder/vendor/autoload.php";
        }
    }

    private static function refusal(string $name, mixed $value, string $printed): string
    {
        $is = match (true) {
            $value === 1 => 'nothing',
            \is_object($value) => 'an object of ' . $value::class,
            default => 'a value of type ' . \get_debug_type($value),
        };
        $also = $printed === '' ? '' : ' and prints ' . \strlen($printed) . ' bytes';
        return "$name returns $is$also, and workers need an application that is loaded once: a file that returns a PSR-15 handler, a "
            . 'Symfony kernel, the application of Laravel with Octane, or a function of a request. Ordinary scripts, which echo and '
            . 'call header(), run in php-fpm: leave out `interface`, as in `serow app ' . \basename($name) . '`';
    }
}
?>
