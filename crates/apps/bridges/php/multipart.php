<?php

namespace Serow;

/**
 * The parts of a multipart/form-data body (RFC 7578). PHP's own limits apply: max_file_uploads, upload_max_filesize, and
 * post_max_size for all fields together, which are in memory. Files are written to upload_tmp_dir.
 */
final class Multipart
{
    /** @var list<array{string, string}> names and values */
    public array $fields = [];
    /** @var list<array{string, array<string, mixed>}> names and files */
    public array $files = [];

    private string $delimiter;
    /** Read and not yet understood. The delimiter of the first part has no line before it (RFC 2046 §5.1.1). */
    private string $buffer = "\r\n";
    private int $of_fields = 0;

    /** A client may send many small parts, and each takes memory. */
    private const MAX_PARTS = 2000;
    private const MAX_HEADER = 16 * 1024;
    /** RFC 2046 §5.1.1. */
    private const MAX_BOUNDARY = 70;

    /** @param resource $stream */
    public function __construct(private $stream, string $type)
    {
        if (!\preg_match('/;\s*boundary=(?:"([^"]+)"|([^\s;,"]+))/i', $type, $found)) {
            throw new BadRequest(400, 'a multipart form has no boundary');
        }
        $boundary = $found[1] !== '' ? $found[1] : $found[2];
        if (\strlen($boundary) > self::MAX_BOUNDARY) {
            throw new BadRequest(400, 'the boundary of a multipart form is too long');
        }
        $this->delimiter = "\r\n--$boundary";
    }

    public function read(): void
    {
        $this->skipTo($this->delimiter, static fn () => null);
        for ($parts = 0; !$this->isEnd(); $parts++) {
            if ($parts === self::MAX_PARTS) {
                throw new BadRequest(413, 'a multipart form has too many parts');
            }
            $header = '';
            $this->skipTo("\r\n\r\n", static function (string $piece) use (&$header) {
                $header .= $piece;
                if (\strlen($header) > self::MAX_HEADER) {
                    throw new BadRequest(400, 'the header of a part of a multipart form is too long');
                }
            });
            $this->part($header);
        }
    }

    /** @return list<string> */
    public function paths(): array
    {
        return \array_values(\array_filter(\array_map(static fn (array $file) => $file[1]['tmp_name'], $this->files)));
    }

    /** Whether the delimiter was the last. Otherwise its line ends. */
    private function isEnd(): bool
    {
        while (\strlen($this->buffer) < 2) {
            $this->fill();
        }
        if (\str_starts_with($this->buffer, '--')) {
            return true;
        }
        // Spaces may follow it. The line break stays: a part without a header begins with the empty line.
        $line = \ltrim($this->buffer, " \t");
        if (!\str_starts_with($line, "\r\n") && $line !== '' && $line !== "\r") {
            throw new BadRequest(400, 'a multipart form is malformed');
        }
        $this->buffer = $line;
        return false;
    }

    private function part(string $header): void
    {
        $disposition = self::field($header, 'content-disposition');
        $name = self::parameter($disposition, 'name');
        $file = self::parameter($disposition, 'filename');
        if ($name === null || $name === '') {
            $this->skipTo($this->delimiter, static fn () => null);
        } elseif ($file === null) {
            $value = '';
            $limit = bytes_of(\ini_get('post_max_size'));
            $this->skipTo($this->delimiter, function (string $piece) use (&$value, $limit) {
                $value .= $piece;
                $this->of_fields += \strlen($piece);
                if ($limit > 0 && $this->of_fields > $limit) {
                    throw new BadRequest(413, 'the fields of a form are longer than post_max_size');
                }
            });
            $this->fields[] = [$name, $value];
        } else {
            $this->file($name, $file, self::field($header, 'content-type'));
        }
    }

    private function file(string $field, string $full, string $type): void
    {
        $name = \substr($full, \max((int) \strrpos("/$full", '/'), (int) \strrpos("\\$full", '\\')));
        $file = ['name' => $name, 'full_path' => $full, 'type' => $type, 'tmp_name' => '', 'error' => \UPLOAD_ERR_OK, 'size' => 0];
        if ($full === '') {
            $file['error'] = \UPLOAD_ERR_NO_FILE;
            $this->skipTo($this->delimiter, static fn () => null);
            $this->files[] = [$field, $file];
            return;
        }
        if (\count($this->files) >= (int) \ini_get('max_file_uploads')) {
            // PHP leaves them out as well.
            $this->skipTo($this->delimiter, static fn () => null);
            return;
        }
        $limit = bytes_of(\ini_get('upload_max_filesize'));
        $path = \tempnam(\ini_get('upload_tmp_dir') ?: \sys_get_temp_dir(), 'php');
        $place = \count($this->files);
        $this->files[] = [$field, ['tmp_name' => $path] + $file];
        $output = \fopen($path, 'wb');
        $this->skipTo($this->delimiter, static function (string $piece) use (&$file, $limit, $output) {
            $file['size'] += \strlen($piece);
            if ($limit > 0 && $file['size'] > $limit) {
                $file['error'] = \UPLOAD_ERR_INI_SIZE;
            } elseif (\fwrite($output, $piece) !== \strlen($piece)) {
                $file['error'] = \UPLOAD_ERR_CANT_WRITE;
            }
        });
        \fclose($output);
        if ($file['error'] === \UPLOAD_ERR_OK) {
            $file['tmp_name'] = $path;
        } else {
            \unlink($path);
            $file['size'] = 0;
        }
        $this->files[$place] = [$field, $file];
    }

    /** Gives everything before this text, which is passed over, in pieces. */
    private function skipTo(string $text, callable $take): void
    {
        while (($place = \strpos($this->buffer, $text)) === false) {
            // The text may have begun.
            $sure = \strlen($this->buffer) - \strlen($text) + 1;
            if ($sure > 0) {
                $take(\substr($this->buffer, 0, $sure));
                $this->buffer = \substr($this->buffer, $sure);
            }
            $this->fill();
        }
        if ($place > 0) {
            $take(\substr($this->buffer, 0, $place));
        }
        $this->buffer = \substr($this->buffer, $place + \strlen($text));
    }

    private function fill(): void
    {
        $piece = \fread($this->stream, PIECE);
        if ($piece === false || $piece === '') {
            throw new BadRequest(400, 'a multipart form ends early');
        }
        $this->buffer .= $piece;
    }

    /** The value of a field in the header of a part. */
    private static function field(string $header, string $name): string
    {
        return \preg_match("/^$name:[ \t]*(.*?)[ \t]*\r?\$/im", $header, $found) ? $found[1] : '';
    }

    private static function parameter(string $value, string $name): ?string
    {
        if (!\preg_match("/;\s*$name=(?:\"((?:[^\"\\\\]|\\\\.)*)\"|([^\s;\"]*))/i", $value, $found)) {
            return null;
        }
        // Browsers write %22 for a quotation mark, other clients a backslash before it; one in a Windows path is just that.
        return \str_replace('\\"', '"', $found[2] ?? $found[1]);
    }
}

/** `8M` in bytes; PHP 8.2 has a function for that. */
function bytes_of(string $text): int
{
    $unit = ['k' => 1024, 'm' => 1024 ** 2, 'g' => 1024 ** 3][\strtolower(\substr(\trim($text), -1))] ?? 1;
    return (int) $text * $unit;
}
?>
