<?php

namespace Serow;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamInterface;

/** A PSR-15 handler, or a function of a PSR-7 request. */
final class PsrApplication extends Application
{
    /** Whose requests have the constructor (method, URI, fields, body, version, variables), which is faster than a factory. */
    private const DIRECT = [
        'Nyholm\Psr7\ServerRequest' => 'Nyholm\Psr7\Factory\Psr17Factory',
        'GuzzleHttp\Psr7\ServerRequest' => 'GuzzleHttp\Psr7\HttpFactory',
    ];
    /** Namespaces with one factory for each kind of object. */
    private const FACTORIES = ['Laminas\Diactoros\\', 'Slim\Psr7\Factory\\', 'HttpSoft\Message\\'];
    /** Streams that read a file as it is. */
    private const STREAMS = ['Nyholm\Psr7\Stream', 'GuzzleHttp\Psr7\Stream', 'Laminas\Diactoros\Stream', 'Slim\Psr7\Stream'];

    private ?string $class = null;
    private object $requests;
    private object $streams;
    private object $uploads;

    public function __construct(private \Closure $handle)
    {
        foreach (self::DIRECT as $class => $factory) {
            if (\class_exists($class) && \class_exists($factory)) {
                $this->class = $class;
                $this->requests = $this->streams = $this->uploads = new $factory();
                return;
            }
        }
        foreach (self::FACTORIES as $namespace) {
            if (\class_exists("{$namespace}ServerRequestFactory")) {
                $this->requests = new ("{$namespace}ServerRequestFactory")();
                $this->streams = new ("{$namespace}StreamFactory")();
                $this->uploads = new ("{$namespace}UploadedFileFactory")();
                return;
            }
        }
        throw new Unusable('there is no PSR-17 factory that makes requests: composer require nyholm/psr7 (guzzlehttp/psr7, '
            . 'laminas/laminas-diactoros and slim/psr7 do as well)');
    }

    public function respond(Request $request, Exchange $exchange): void
    {
        try {
            $message = $this->message($request);
        } catch (BadRequest $error) {
            $exchange->refuse($error);
            return;
        }
        $response = ($this->handle)($message);
        if (!$response instanceof ResponseInterface) {
            throw new \UnexpectedValueException('the response is to be a PSR-7 response, and is ' . \get_debug_type($response));
        }
        $fields = $response->getHeaders();
        $head = Head::pack($response->getStatusCode(), $fields);
        $body = $response->getBody();
        $size = $body->getSize();
        if ($size !== null && $size <= PIECE) {
            $exchange->respond($head, (string) $body, Head::hasLength($fields));
        } elseif ($size !== null && \in_array($body::class, self::STREAMS, true) && $body->isSeekable() && $body->isReadable()) {
            $file = $body->detach();
            \rewind($file);
            $exchange->sendStream($head, $file);
        } else {
            self::send($head, $body, $exchange);
        }
    }

    private static function send(string $head, StreamInterface $body, Exchange $exchange): void
    {
        $exchange->begin($head);
        if ($body->isSeekable()) {
            $body->rewind();
        }
        while (!$body->eof()) {
            if (!$exchange->write($body->read(PIECE))) {
                $body->close();
                throw new ClientGone();
            }
        }
        $exchange->end();
    }

    private function message(Request $request): ServerRequestInterface
    {
        $server = $request->server;
        $target = $server['REQUEST_URI'];
        $is_path = $target[0] === '/';
        $uri = $server['REQUEST_SCHEME'] . '://' . ($server['HTTP_HOST'] ?? $server['SERVER_NAME']) . ($is_path ? $target : '/');
        $method = $server['REQUEST_METHOD'];
        $version = \substr($server['SERVER_PROTOCOL'], 5);
        $content = $request->body->content();
        try {
            $message = $this->class !== null
                ? new ($this->class)($method, $uri, $request->fields(), $content === '' ? null : $content, $version, $server)
                : $this->make($method, $uri, $request, $version);
        } catch (\InvalidArgumentException $error) {
            throw new BadRequest(400, $error->getMessage());
        }
        if (!$is_path) {
            $message = $message->withRequestTarget($target);
        }
        if ($query = $request->query()) {
            $message = $message->withQueryParams($query);
        }
        if ($cookies = $request->cookies()) {
            $message = $message->withCookieParams($cookies);
        }
        if ($method === 'POST' && $request->body->isForm()) {
            $message = $message->withParsedBody($request->body->fields());
            $files = $request->body->files();
            if ($files) {
                $message = $message->withUploadedFiles($this->uploaded($files));
            }
        }
        return $message;
    }

    private function make(string $method, string $uri, Request $request, string $version): ServerRequestInterface
    {
        $message = $this->requests->createServerRequest($method, $uri, $request->server);
        foreach ($request->fields() as $name => $value) {
            $message = $message->withHeader((string) $name, $value);
        }
        $message = $message->withProtocolVersion($version);
        return $message->withBody($this->streams->createStreamFromResource($request->body->stream()));
    }

    private function uploaded(array $files): array
    {
        return \array_map(function (array $file) {
            if (!\array_key_exists('tmp_name', $file) || \is_array($file['tmp_name'])) {
                return $this->uploaded($file);
            }
            $stream = $file['tmp_name'] === '' ? $this->streams->createStream() : $this->streams->createStreamFromFile($file['tmp_name']);
            return $this->uploads->createUploadedFile($stream, $file['size'], $file['error'], $file['name'], $file['type']);
        }, $files);
    }
}
?>
