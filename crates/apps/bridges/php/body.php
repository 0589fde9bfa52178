<?php

namespace Serow;

/** The body of a request. */
final class Body implements \Stringable
{
    private ?Form $form = null;

    /** @param string|resource $content */
    public function __construct(private $content, private string $type)
    {
    }

    /** All of it. */
    public function __toString(): string
    {
        return \is_string($this->content) ? $this->content : \stream_get_contents($this->content, null, 0);
    }

    /** A stream from which it is read. @return resource */
    public function stream()
    {
        if (\is_string($this->content)) {
            $stream = \fopen('php://memory', 'r+');
            \fwrite($stream, $this->content);
            \rewind($stream);
            return $stream;
        }
        \rewind($this->content);
        return $this->content;
    }

    /** As it came: a short one is a string, a long one a file. @return string|resource */
    public function content()
    {
        return \is_string($this->content) ? $this->content : $this->stream();
    }

    /** The fields of a form, as in $_POST, whatever the method. @return array<int|string, mixed> */
    public function fields(): array
    {
        return $this->form()->fields;
    }

    /**
     * The files of a form: each by the name of its field, as name, full_path, type, tmp_name, error and size.
     *
     * @return array<int|string, mixed>
     */
    public function files(): array
    {
        return $this->form()->files;
    }

    /** Whether it is a form. */
    public function isForm(): bool
    {
        return Form::kind($this->type) !== null;
    }

    public function delete(): void
    {
        $this->form?->delete();
    }

    private function form(): Form
    {
        return $this->form ??= Form::read($this, $this->type);
    }
}

/** A request that cannot be understood: the client gets this status. */
final class BadRequest extends \Exception
{
    public function __construct(public readonly int $status, string $message)
    {
        parent::__construct($message);
    }
}
?>
