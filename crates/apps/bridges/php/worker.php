<?php

namespace Serow;

/** Responds to requests, one after the other. */
final class Worker
{
    public static \Socket $requests;
    /** @var list<\Socket> */
    public static array $replies = [];
    /** The request that is handled. */
    public static ?Exchange $exchange = null;

    /** @param list<resource> $descriptors */
    public static function run(?Application $application, array $descriptors): void
    {
        self::$requests = socket_of(\array_shift($descriptors));
        Output::$log = \array_shift($descriptors);
        self::$replies = \array_map(socket_of(...), $descriptors);
        Ending::watch(static fn (string $text) => self::send("failed\0" . \substr($text, 0, PIECE)));
        try {
            $application ??= Application::load(TemplateProcess::$settings['application']);
        } catch (\Throwable $error) {
            Ending::stopWatching();
            self::send("failed\0" . \substr(describe($error), 0, PIECE));
            return;
        }
        Ending::watch(static fn (string $text) => self::$exchange?->endProcess($text));
        self::send('ready');
        self::serve($application);
        Ending::stopWatching();
        $application->end();
    }

    /** Until there are no more requests, or the application has to be loaded again. */
    private static function serve(Application $application): void
    {
        $state = TemplateProcess::$settings['development'] ? State::now() : null;
        while (true) {
            $length = @\socket_recv(self::$requests, $packet, PACKET, 0);
            if (!$length) {
                if ($length === false && \socket_last_error(self::$requests) === \SOCKET_EINTR) {
                    continue;
                }
                return;
            }
            $kind = $packet[0];
            if ($kind === 'c') {
                // The response has already ended.
                continue;
            }
            $exchange = self::$exchange = new Exchange(\substr($packet, 0, TICKET));
            $request = $exchange->read($kind, $packet);
            if ($request !== null) {
                try {
                    $application->respond($request, $exchange);
                } catch (ClientGone) {
                    $exchange->end();
                } catch (\Throwable $error) {
                    $exchange->fail(describe($error));
                }
                $exchange->complete();
                $request->delete();
            }
            self::$exchange = null;
            Output::reset();
            $state?->restore();
        }
    }

    /** Nothing reads it where Serow does not need this worker any more. */
    public static function send(string $packet): void
    {
        @\socket_write(self::$requests, $packet);
    }
}

/** What `echo` prints: a part of a response that is streamed, or else for the log, as standard output is. */
final class Output
{
    /** @var resource|null */
    public static $log = null;
    /** Of the response that is streamed. */
    private static ?Exchange $sink = null;
    private static bool $is_inside = false;
    private static ?string $kept = null;

    /** For the life of the process: it cannot be removed, and passes on each piece at once. */
    public static function begin(): void
    {
        \ob_start(self::take(...), 1, 0);
        self::$log = \fopen('php://stderr', 'w');
    }

    /** From here on, output is kept until `kept` returns it. */
    public static function keep(): void
    {
        self::$kept = '';
    }

    public static function kept(): string
    {
        $kept = self::$kept ?? '';
        self::$kept = null;
        return $kept;
    }

    public static function log(string $text): void
    {
        @\fwrite(self::$log, \rtrim($text, "\n") . "\n");
    }

    /** Calls a function whose output is the body of a response. */
    public static function stream(Exchange $exchange, callable $print): void
    {
        self::$sink = $exchange;
        $is_asynchronous = \pcntl_async_signals(true);
        $handler = \pcntl_signal_get_handler(\SIGALRM);
        \pcntl_signal(\SIGALRM, self::interrupt(...), false);
        try {
            $print();
            self::flush();
        } finally {
            self::$sink = null;
            \pcntl_alarm(0);
            \pcntl_signal(\SIGALRM, $handler);
            \pcntl_async_signals($is_asynchronous);
        }
        if ($exchange->is_gone) {
            throw new ClientGone();
        }
    }

    private static function take(string $text): string
    {
        self::$is_inside = true;
        if ($text === '') {
            // The end of a buffer.
        } elseif (self::$sink !== null) {
            // An exception here would disable the buffer, so a client that is gone is reported by a signal.
            if (!self::$sink->is_gone && !self::$sink->write($text)) {
                \pcntl_alarm(1);
            }
        } elseif (self::$kept !== null) {
            self::$kept .= $text;
        } else {
            @\fwrite(self::$log, $text);
        }
        self::$is_inside = false;
        return '';
    }

    private static function interrupt(): void
    {
        if (self::$is_inside) {
            \pcntl_alarm(1);
        } elseif (self::$sink?->is_gone) {
            throw new ClientGone();
        }
    }

    private static function flush(): void
    {
        while (\ob_get_level() > 1 && @\ob_end_flush()) {
        }
    }

    /** Ends the buffers that a request has left open; their content is not part of another response. */
    public static function reset(): void
    {
        if (\ob_get_level() > 1) {
            self::flush();
        }
    }
}

/** The end of the process that nobody has asked for: `exit`, a fatal error, no more memory. */
final class Ending
{
    private static ?\Closure $report = null;
    private static bool $is_registered = false;
    /** Memory to report its lack. */
    private static ?string $reserve = null;

    /** Calls this with the reason. */
    public static function watch(\Closure $report): void
    {
        self::$report = $report;
        self::$reserve = \str_repeat('x', PIECE);
        if (!self::$is_registered) {
            self::$is_registered = true;
            // Before those of the application, which may end the process themselves.
            \register_shutdown_function(self::end(...));
        }
    }

    public static function stopWatching(): void
    {
        self::$report = null;
    }

    private static function end(): void
    {
        self::$reserve = null;
        $report = self::$report;
        if ($report === null) {
            return;
        }
        \ini_set('memory_limit', '-1');
        $error = \error_get_last();
        $is_fatal = ($error['type'] ?? 0) & (\E_ERROR | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR | \E_PARSE);
        $report($is_fatal ? "Fatal error: $error[message] in $error[file]:$error[line]"
            : 'exit() or die() was called, which ends the worker: return instead');
    }
}
?>
