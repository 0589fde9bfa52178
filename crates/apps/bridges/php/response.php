<?php

namespace Serow;

/** The head of a response, as Serow reads it. */
final class Head
{
    /**
     * Of a status, and fields whose values are texts, numbers or lists of them.
     *
     * @param array<string, mixed> $fields
     */
    public static function pack(int $status, array $fields): string
    {
        if ($status < 200 || $status > 999) {
            throw new \UnexpectedValueException("the response's status is $status, and is to be a number from 200 to 999");
        }
        $head = "\0$status\0";
        $nuls = 2;
        foreach ($fields as $name => $values) {
            foreach (\is_array($values) ? $values : [$values] as $value) {
                $head .= "$name\0$value\0";
                $nuls += 2;
            }
        }
        // A NUL in a value would split one field in two. An empty name would end the head.
        if (isset($fields['']) || \substr_count($head, "\0") !== $nuls) {
            throw new \UnexpectedValueException('the name or value of a header field of the response is empty or has a NUL');
        }
        return "$head\0";
    }

    /** @param array<string, mixed> $fields */
    public static function hasLength(array $fields): bool
    {
        foreach ($fields as $name => $value) {
            if (\strlen((string) $name) === 14 && \strcasecmp((string) $name, 'content-length') === 0) {
                return true;
            }
        }
        return false;
    }
}
?>
