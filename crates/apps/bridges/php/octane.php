<?php

namespace Serow;

use Illuminate\Foundation\Application as Laravel;

/** An application of Laravel, which Octane gives a fresh container for each request. */
final class OctaneApplication extends Application
{
    private function __construct(private \Laravel\Octane\Worker $worker)
    {
    }

    public static function of(object $laravel, string $name): self
    {
        if (!\class_exists(\Laravel\Octane\Worker::class)) {
            throw new Unusable("$name is an application of Laravel, which keeps users and other state of a request for the next one "
                . 'unless Octane separates them: composer require laravel/octane, or run public/index.php in php-fpm');
        }
        $_SERVER['LARAVEL_OCTANE'] = $_ENV['LARAVEL_OCTANE'] = 1;
        $worker = new \Laravel\Octane\Worker(new \Laravel\Octane\ApplicationFactory($laravel->basePath()), self::client());
        $worker->boot();
        return new self($worker);
    }

    public function respond(Request $request, Exchange $exchange): void
    {
        try {
            $message = SymfonyApplication::message($request, \Symfony\Component\HttpFoundation\Request::class);
        } catch (BadRequest $error) {
            $exchange->refuse($error);
            return;
        }
        // Octane lets tasks run behind the response.
        $exchange->goOn();
        $context = new \Laravel\Octane\RequestContext(['request' => $message, 'exchange' => $exchange]);
        [$message, $context] = self::client()->marshalRequest($context);
        $this->worker->handle($message, $context);
    }

    public function end(): void
    {
        $this->worker->terminate();
    }

    /** Octane calls it with responses and errors. */
    private static function client(): \Laravel\Octane\Contracts\Client
    {
        return new class () implements \Laravel\Octane\Contracts\Client {
            public function marshalRequest(\Laravel\Octane\RequestContext $context): array
            {
                return [\Illuminate\Http\Request::createFromBase($context->data['request']), $context];
            }

            public function respond(\Laravel\Octane\RequestContext $context, \Laravel\Octane\OctaneResponse $response): void
            {
                if (($response->outputBuffer ?? '') !== '') {
                    Output::log($response->outputBuffer);
                }
                SymfonyApplication::send($response->response, $context->data['exchange']);
            }

            public function error(
                \Throwable $error,
                Laravel $app,
                \Illuminate\Http\Request $request,
                \Laravel\Octane\RequestContext $context
            ): void {
                $context->data['exchange']->fail(describe($error));
            }
        };
    }
}
?>
