<?php

namespace Serow;

/** A function of the variables and the body of a request, which returns status, fields and body. */
final class PlainApplication extends Application
{
    public function __construct(private \Closure $call)
    {
    }

    public function respond(Request $request, Exchange $exchange): void
    {
        try {
            $this->answer(($this->call)($request->server, $request->body), $exchange);
        } catch (BadRequest $error) {
            $exchange->refuse($error);
        }
    }

    private function answer(mixed $response, Exchange $exchange): void
    {
        if (\is_string($response)) {
            $response = [200, ['Content-Type' => 'text/html; charset=UTF-8'], $response];
        } elseif ($response instanceof \Generator) {
            // Its first value is the head, and the others are the body.
            $head = $response->current();
            \is_array($head) && \count($head) === 2 || self::refuse($head, 'the first value of the generator is to be [status, fields]');
            $response->next();
            $response = [...$head, self::rest($response)];
        }
        $is_triple = \is_array($response) && \array_is_list($response) && \count($response) === 3;
        $is_triple && \is_int($response[0]) && \is_array($response[1])
            || self::refuse($response, 'the response is to be [status, fields, body], a string or a generator');
        [$status, $fields, $body] = $response;
        self::check($fields);
        $head = Head::pack($status, $fields);
        if (\is_string($body) || $body === null) {
            $exchange->respond($head, (string) $body, Head::hasLength($fields));
        } elseif (\is_resource($body)) {
            $exchange->sendStream($head, $body);
        } elseif (\is_iterable($body)) {
            self::sendPieces($head, $body, $exchange);
        } else {
            self::refuse($body, 'the body is to be a string, an iterable of strings or a stream');
        }
    }

    /** A generator that has begun cannot be iterated from its beginning. */
    private static function rest(\Generator $pieces): \Generator
    {
        for (; $pieces->valid(); $pieces->next()) {
            yield $pieces->current();
        }
    }

    private static function check(array $fields): void
    {
        foreach ($fields as $name => $values) {
            \is_string($name) || self::refuse($name, 'the fields are to be name => value');
            foreach (\is_array($values) ? $values : [$values] as $value) {
                \is_scalar($value) || $value instanceof \Stringable || self::refuse($value, "the field $name is to be a text");
            }
        }
    }

    private static function sendPieces(string $head, iterable $pieces, Exchange $exchange): void
    {
        $exchange->begin($head);
        foreach ($pieces as $piece) {
            \is_string($piece) || self::refuse($piece, 'a piece of the body is to be a string');
            if (!$exchange->write($piece)) {
                throw new ClientGone();
            }
        }
        $exchange->end();
    }

    private static function refuse(mixed $value, string $wanted): never
    {
        throw new \UnexpectedValueException("$wanted, and is " . \get_debug_type($value));
    }
}
?>
