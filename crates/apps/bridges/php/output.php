<?php

namespace Serow;

/** Takes the output of `echo`: a part of a response that is streamed; all else goes to the log, as standard output does. */
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
?>
