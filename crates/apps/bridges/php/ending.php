<?php

namespace Serow;

/** Reports the unexpected end of the process: `exit`, a fatal error, no more memory. */
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
