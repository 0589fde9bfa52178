<?php

namespace Serow;

/** A request, as an application of any kind gets it in its form. */
final class Request
{
    public readonly Body $body;

    /**
     * @param array<string, string|float|int> $server CGI's variables
     * @param string|resource $body
     */
    public function __construct(public array $server, $body)
    {
        $time = \microtime(true);
        if (isset($server['SCRIPT_NAME'])) {
            // The path at which the application is mounted.
            $this->server['SCRIPT_NAME'] .= Application::$constants['SCRIPT_NAME'];
            $this->server['PHP_SELF'] = $this->server['SCRIPT_NAME'];
        }
        $this->server += Application::$constants;
        $this->server['REQUEST_TIME'] = (int) $time;
        $this->server['REQUEST_TIME_FLOAT'] = $time;
        $this->body = new Body($body, $server['CONTENT_TYPE'] ?? '');
    }

    /** Fields of the header, by their names in lower case. @return array<string, string> */
    public function fields(): array
    {
        static $names = ['CONTENT_TYPE' => 'content-type', 'CONTENT_LENGTH' => 'content-length'];
        $fields = [];
        foreach ($this->server as $variable => $value) {
            if (isset($names[$variable])) {
                $fields[$names[$variable]] = $value;
            } elseif (\str_starts_with($variable, 'HTTP_')) {
                $name = \strtr(\strtolower(\substr($variable, 5)), '_', '-');
                if (\count($names) < 256) {
                    // Clients may send any.
                    $names[$variable] = $name;
                }
                $fields[$name] = $value;
            }
        }
        return $fields;
    }

    /** As $_GET. @return array<int|string, mixed> */
    public function query(): array
    {
        return $this->server['QUERY_STRING'] === '' ? [] : Form::parse($this->server['QUERY_STRING']);
    }

    /** As $_COOKIE. @return array<int|string, mixed> */
    public function cookies(): array
    {
        return isset($this->server['HTTP_COOKIE']) ? Form::cookies($this->server['HTTP_COOKIE']) : [];
    }

    /** Deletes uploaded files that the application has not moved. */
    public function delete(): void
    {
        $this->body->delete();
    }
}
?>
