<?php

namespace Serow;

/**
 * In development: the state of the process that requests share. A request that changes it is reported once for each kind, and the
 * state is restored where PHP can do that.
 */
final class State
{
    /** @var array<string, true> */
    private array $reported = [];

    private function __construct(
        private string $folder,
        private string $zone,
        private string $locale,
        private int $mask,
        /** @var array<string, string|null> */
        private array $settings,
        /** @var array<string, true> */
        private array $globals,
        private mixed $handlers,
    ) {
    }

    public static function now(): self
    {
        return new self(...self::values());
    }

    private static function values(): array
    {
        $errors = \set_error_handler(null);
        \restore_error_handler();
        $exceptions = \set_exception_handler(null);
        \restore_exception_handler();
        // It is changed to be read.
        \umask($mask = \umask(0));
        return [(string) \getcwd(), \date_default_timezone_get(), (string) \setlocale(\LC_ALL, '0'), $mask,
            \ini_get_all(null, false), \array_fill_keys(\array_keys($GLOBALS), true), [$errors, $exceptions]];
    }

    /** After a request. */
    public function restore(): void
    {
        [$folder, $zone, $locale, $mask, $settings, $globals, $handlers] = self::values();
        if ($folder !== $this->folder) {
            $this->report('changed the working directory', \chdir($this->folder));
        }
        if ($zone !== $this->zone) {
            $this->report('changed the time zone', \date_default_timezone_set($this->zone));
        }
        if ($locale !== $this->locale) {
            $this->report('changed the locale', $this->setLocale());
        }
        if ($mask !== $this->mask) {
            \umask($this->mask);
            $this->report('changed the umask', true);
        }
        foreach (\array_diff_assoc($settings, $this->settings) as $name => $value) {
            $is_restored = @\ini_set($name, (string) $this->settings[$name]) !== false;
            $this->report("changed the PHP setting $name", $is_restored);
        }
        foreach (\array_diff_key($globals, $this->globals) as $name => $_) {
            $this->report("made the global variable \$$name", false);
        }
        if ($handlers !== $this->handlers) {
            $this->report('changed the error handler or the exception handler', false);
            $this->handlers = $handlers;
        }
    }

    private function setLocale(): bool
    {
        if (!\str_contains($this->locale, ';')) {
            return \setlocale(\LC_ALL, $this->locale) !== false;
        }
        $is_set = true;
        foreach (\explode(';', $this->locale) as $category) {
            [$name, $value] = \explode('=', $category, 2);
            $is_set = !\defined($name) || \setlocale(\constant($name), $value) !== false && $is_set;
        }
        return $is_set;
    }

    private function report(string $change, bool $is_restored): void
    {
        if (!isset($this->reported[$change])) {
            $this->reported[$change] = true;
            Output::log("A request $change, which the next request of this worker would see; "
                . ($is_restored ? 'in development Serow restores it, in production it stays' : 'it stays'));
        }
    }
}
?>
