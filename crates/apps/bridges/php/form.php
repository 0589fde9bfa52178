<?php

namespace Serow;

/** The fields and files of a form, with the names, the nesting and the limits (max_input_vars) of PHP. */
final class Form
{
    /** @var array<int|string, mixed> */
    public array $fields = [];
    /** @var array<int|string, mixed> */
    public array $files = [];
    /** @var list<string> */
    private array $paths = [];

    public static function read(Body $body, string $type): self
    {
        $form = new self();
        $kind = self::kind($type);
        if ($kind === 'urlencoded') {
            $form->fields = self::parse((string) $body);
        } elseif ($kind === 'multipart') {
            $parts = new Multipart($body->stream(), $type);
            try {
                $parts->read();
            } catch (BadRequest $error) {
                $form->paths = $parts->paths();
                $form->delete();
                throw $error;
            }
            $form->paths = $parts->paths();
            $form->fields = self::nest($parts->fields);
            $form->files = self::nest(\array_map(static fn (array $file) => [$file[0], ''], $parts->files), $parts->files);
        }
        return $form;
    }

    public static function kind(string $type): ?string
    {
        $type = \strtolower(\trim(\strtok($type, ';') ?: ''));
        return ['application/x-www-form-urlencoded' => 'urlencoded', 'multipart/form-data' => 'multipart'][$type] ?? null;
    }

    /** @return array<int|string, mixed> */
    public static function parse(string $text): array
    {
        \parse_str($text, $fields);
        return $fields;
    }

    /** Of cookies with the same name, the first counts; `+` is not a space in them. @return array<int|string, mixed> */
    public static function cookies(string $text): array
    {
        $pairs = [];
        foreach (\explode(';', $text) as $place => $pair) {
            $pair = \ltrim($pair);
            $name = \strstr($pair, '=', true);
            if ($name !== false) {
                $pairs[\str_ends_with($name, ']') ? "$place $name" : $name] ??= \strtr($pair, ['&' => '%26', '+' => '%2B']);
            }
        }
        return self::parse(\implode('&', $pairs));
    }

    public function delete(): void
    {
        foreach ($this->paths as $path) {
            @\unlink($path);
        }
    }

    /**
     * Names such as a[b][] make arrays, by PHP's own rules; with files, these take the places of the values.
     *
     * @param list<array{string, string}> $pairs
     * @param list<array{string, array<string, mixed>}>|null $files
     */
    private static function nest(array $pairs, ?array $files = null): array
    {
        $text = [];
        foreach ($pairs as $place => [$name, $value]) {
            $text[] = \rawurlencode($name) . '=' . ($files === null ? \rawurlencode($value) : $place);
        }
        $nested = self::parse(\implode('&', $text));
        if ($files !== null) {
            \array_walk_recursive($nested, static function (&$place) use ($files) {
                $place = $files[(int) $place][1];
            });
        }
        return $nested;
    }
}
?>
