<?php

namespace Serow;

/** One request, and how far its response is. */
final class Exchange
{
    public bool $is_gone = false;
    private \Socket $reply;
    private bool $has_begun = false;
    private bool $is_complete = false;
    /** Whether the worker is busy after the response. */
    private bool $goes_on = false;

    public function __construct(private string $ticket)
    {
        $this->reply = Worker::$replies[\ord($ticket[1]) - FIRST_THREAD];
    }

    /** The request in a packet; nothing if nobody waits for the response any more. */
    public function read(string $kind, string $packet): ?Request
    {
        if ($kind === 'r') {
            return new Request(\unserialize(\substr($packet, TICKET), ['allowed_classes' => false]), '');
        }
        $length = (int) \substr($packet, TICKET, 8);
        $server = \unserialize(\substr($packet, TICKET + 8, $length), ['allowed_classes' => false]);
        if ($kind === 'b') {
            return new Request($server, \substr($packet, TICKET + 8 + $length));
        }
        $this->send('G' . $this->ticket);
        [, $descriptors] = receive($this->reply);
        if (!$descriptors) {
            $this->end();
            $this->complete();
            return null;
        }
        // A worker that crashed may have read some of it.
        \rewind($descriptors[0]);
        return new Request($server, $descriptors[0]);
    }

    /** Further work follows the response: the worker takes no other request until it is done. */
    public function goOn(): void
    {
        $this->goes_on = true;
    }

    /** Responds with a whole body. */
    public function respond(string $head, string $body, bool $has_length): void
    {
        $this->expectNone();
        if (\strlen($head) + \strlen($body) <= PIECE) {
            $this->finish('R', $head . $body);
            return;
        }
        $this->begin($has_length ? $head : \substr($head, 0, -1) . 'Content-Length' . "\0" . \strlen($body) . "\0\0");
        if (!$this->write($body)) {
            throw new ClientGone();
        }
        $this->end();
    }

    public function begin(string $head): void
    {
        $this->expectNone();
        $this->has_begun = true;
        $this->send("H$this->ticket$head");
    }

    /** Sends a piece of the body; returns whether somebody waits for it. */
    public function write(string $piece): bool
    {
        for ($place = 0, $length = \strlen($piece); $place < $length; $place += PIECE) {
            if (@\socket_recv(Worker::$requests, $next, TICKET, \MSG_PEEK | \MSG_DONTWAIT) && $next[0] === 'c'
                && \substr($next, 2) === \substr($this->ticket, 2)) {
                $this->is_gone = true;
                return false;
            }
            $this->send("B$this->ticket" . ($length <= PIECE ? $piece : \substr($piece, $place, PIECE)));
        }
        return true;
    }

    /** The body is complete. */
    public function end(): void
    {
        if (!$this->is_complete) {
            $this->finish('E', '');
        }
    }

    /** Lets Serow send the rest of a file. @param resource $file */
    public function sendFile(string $head, $file): void
    {
        $this->expectNone();
        $this->send("S$this->ticket");
        $packet = ($this->goes_on ? 'f' : 'F') . $this->ticket . $head . \ftell($file);
        $rights = ['level' => \SOL_SOCKET, 'type' => \SCM_RIGHTS, 'data' => [$file]];
        $this->is_complete = true;
        while (@\socket_sendmsg($this->reply, ['iov' => [$packet], 'control' => [$rights]], 0) === false) {
            $this->mustRetry();
        }
    }

    /**
     * Sends an open stream from its position: Serow does, if it is a regular file of the file system.
     *
     * @param resource $stream
     */
    public function sendStream(string $head, $stream): void
    {
        $facts = @\fstat($stream);
        $is_file = $facts && ($facts['mode'] & 0o170000) === 0o100000 && \stream_get_meta_data($stream)['stream_type'] === 'STDIO';
        // Files in /proc report a size of 0.
        if ($is_file && $facts['size'] - \ftell($stream) > PIECE && self::isAsItIs($stream)) {
            $this->sendFile($head, $stream);
            return;
        }
        $this->begin($head);
        while (!\feof($stream)) {
            if (!$this->write((string) \fread($stream, PIECE))) {
                throw new ClientGone();
            }
        }
        $this->end();
    }

    /** Whether no filter changes its content: PHP selects no stream that has one. @param resource $stream */
    private static function isAsItIs($stream): bool
    {
        [$readable, $others] = [[$stream], null];
        try {
            return @\stream_select($readable, $others, $others, 0) === 1;
        } catch (\ValueError) {
            return false;
        }
    }

    /** Responds to a request that cannot be understood. */
    public function refuse(BadRequest $error): void
    {
        Output::log($error->getMessage());
        $this->respond(Head::pack($error->status, ['Content-Type' => 'text/plain']), $error->getMessage() . "\n", false);
    }

    /** The application failed. */
    public function fail(string $text): void
    {
        Output::log($text);
        if (!$this->is_complete) {
            $this->finish('X', $text);
        }
    }

    /** The process ends, and this request with it. */
    public function endProcess(string $text): void
    {
        $this->goes_on = true;
        if (!$this->is_gone) {
            $this->fail($text);
        } else {
            $this->end();
        }
        Worker::send('draining');
    }

    /** The work behind the response is done as well. */
    public function complete(): void
    {
        if (!$this->is_complete) {
            $this->fail('the application gave no response');
        }
        if ($this->goes_on) {
            $this->send("D$this->ticket");
        }
    }

    private function expectNone(): void
    {
        if ($this->is_complete || $this->has_begun) {
            throw new \LogicException('a second response is given');
        }
    }

    private function finish(string $kind, string $content): void
    {
        $this->is_complete = true;
        $this->send(($this->goes_on ? \lcfirst($kind) : $kind) . $this->ticket . $content);
    }

    private function send(string $packet): void
    {
        while (@\socket_write($this->reply, $packet) === false) {
            $this->mustRetry();
        }
    }

    private function mustRetry(): void
    {
        $error = \socket_last_error($this->reply);
        if ($error === \SOCKET_EMSGSIZE) {
            // Nothing of it was sent.
            $this->is_complete = $this->has_begun = false;
            throw new \LengthException("the response's header is too long");
        }
        if ($error !== \SOCKET_EINTR) {
            // Serow does not need this worker any more.
            Ending::stopWatching();
            exit(1);
        }
    }
}
?>
