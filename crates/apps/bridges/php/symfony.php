<?php

namespace Serow;

use Symfony\Component\HttpFoundation\BinaryFileResponse;
use Symfony\Component\HttpFoundation\File\UploadedFile;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;

/** A kernel of Symfony, or a function of an HttpFoundation request. */
final class SymfonyApplication extends Application
{
    public function __construct(private \Closure $handle, private ?TerminableInterface $terminable = null)
    {
    }

    public static function ofKernel(HttpKernelInterface $kernel): self
    {
        return new self($kernel->handle(...), $kernel instanceof TerminableInterface ? $kernel : null);
    }

    /** Whether the application has loaded symfony/runtime, and so returns a function that makes it. */
    public static function isOfRuntime(): bool
    {
        foreach (\get_included_files() as $file) {
            if (\basename($file) === 'autoload_runtime.php') {
                return true;
            }
        }
        return false;
    }

    /** Makes the application as `autoload_runtime.php` does, which leaves that to us. */
    public static function byRuntime(\Closure $make): mixed
    {
        $folder = \dirname((new \ReflectionClass('Composer\Autoload\ClassLoader'))->getFileName(), 3);
        $class = $_SERVER['APP_RUNTIME'] ?? $_ENV['APP_RUNTIME'] ?? 'Symfony\Component\Runtime\SymfonyRuntime';
        $options = ($_SERVER['APP_RUNTIME_OPTIONS'] ?? $_ENV['APP_RUNTIME_OPTIONS'] ?? []) + ['project_dir' => $folder];
        [$make, $arguments] = (new $class($options))->getResolver($make)->resolve();
        return $make(...$arguments);
    }

    public function respond(Request $request, Exchange $exchange): void
    {
        try {
            $message = self::message($request, \Symfony\Component\HttpFoundation\Request::class);
        } catch (BadRequest $error) {
            $exchange->refuse($error);
            return;
        }
        $response = ($this->handle)($message);
        if (!$response instanceof Response) {
            throw new \UnexpectedValueException('the response is to be one of HttpFoundation, and is ' . \get_debug_type($response));
        }
        if ($this->terminable !== null) {
            $exchange->goOn();
        }
        self::send($response, $exchange);
        $this->terminable?->terminate($message, $response);
    }

    /** @template T @param class-string<T> $class @return T */
    public static function message(Request $request, string $class): object
    {
        $body = $request->body;
        // As Request::createFromGlobals does; PHP itself reads forms with files of POST only.
        $has_form = \in_array($request->server['REQUEST_METHOD'], ['POST', 'PUT', 'DELETE', 'PATCH'], true) && $body->isForm();
        $fields = $has_form ? $body->fields() : [];
        $files = $has_form ? self::uploaded($body->files()) : [];
        return new $class($request->query(), $fields, [], $request->cookies(), $files, $request->server, $body->content());
    }

    private static function uploaded(array $files): array
    {
        return \array_map(static function (array $file) {
            if (!\array_key_exists('tmp_name', $file) || \is_array($file['tmp_name'])) {
                return self::uploaded($file);
            }
            // Its last argument says that PHP itself does not know the file.
            return $file['error'] === \UPLOAD_ERR_NO_FILE ? null
                : new UploadedFile($file['tmp_name'], $file['name'], $file['type'], $file['error'], true);
        }, $files);
    }

    public static function send(Response $response, Exchange $exchange): void
    {
        $fields = $response->headers->allPreserveCase();
        $head = Head::pack($response->getStatusCode(), $fields);
        $content = $response->getContent();
        if (\is_string($content)) {
            $exchange->respond($head, $content, Head::hasLength($fields));
        } elseif (!$response instanceof BinaryFileResponse || !self::sendFile($response, $head, $exchange)) {
            $exchange->begin($head);
            Output::stream($exchange, $response->sendContent(...));
            $exchange->end();
        }
    }

    /** Lets Serow send the file, or the part of it that the response has; returns whether it does. */
    private static function sendFile(BinaryFileResponse $response, string $head, Exchange $exchange): bool
    {
        if ($response::class !== BinaryFileResponse::class || !$response->isSuccessful()) {
            return false;
        }
        [$is_deleted, $is_temporary] = (fn () => [$this->deleteFileAfterSend, isset($this->tempFileObject)])->call($response);
        $path = $response->getFile()->getPathname();
        $file = $is_temporary || \filesize($path) <= PIECE ? false : @\fopen($path, 'r');
        if ($file === false) {
            return false;
        }
        if ($is_deleted) {
            \unlink($path);
        }
        if (\preg_match('/^bytes (\d+)-/', $response->headers->get('Content-Range', ''), $found)) {
            \fseek($file, (int) $found[1]);
        }
        $exchange->sendFile($head, $file);
        return true;
    }
}
?>
