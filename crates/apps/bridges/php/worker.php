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
?>
