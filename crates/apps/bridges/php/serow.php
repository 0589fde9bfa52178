<?php
// Serow's bridge for PHP; the other files of this folder follow, start.php is the last. It is read from standard input, which
// is the channel to Serow; src/messages.rs describes the protocol. Each file ends its mode, so that the next can begin it.

namespace Serow;

const PACKET = 256 * 1024;      // longer than any packet to a worker
const PIECE = 64 * 1024;        // of a body: two fit into the socket's buffer
const DESCRIPTORS = 253;        // the most that a message can carry (SCM_MAX_FD)
const TICKET = 10;              // bytes
const FIRST_THREAD = 33;        // in tickets

/** The application is not one; the text is the complete message. */
final class Unusable extends \Exception
{
}

/** Nobody waits for the response any more. */
final class ClientGone extends \Exception
{
}

/** The process that forks workers. It loads the application first where that is to be shared. */
final class TemplateProcess
{
    /** @var array<string, string> */
    public static array $settings = [];
    private \Socket $control;
    private ?Application $application = null;
    /** The other end of the lifeline of each child, which ends with it. @var array<int, \Socket> */
    private array $children = [];

    public function run(): void
    {
        $this->control = \socket_import_stream(\fopen('php://fd/0', 'r+'));
        \socket_recv($this->control, $text, PACKET, 0);
        $parts = \explode("\0", $text);
        for ($place = 0; $place + 1 < \count($parts); $place += 2) {
            self::$settings[$parts[$place]] = $parts[$place + 1];
        }
        \fclose(\STDIN);
        $GLOBALS['serow.input'] = \fopen('/dev/null', 'r');
        \cli_set_process_title('serow ' . self::$settings['name'] . ': template');
        Output::begin();
        Ending::watch(fn (string $text) => $this->send('failed', $text));
        if (self::$settings['preload']) {
            try {
                $this->application = Application::load(self::$settings['application']);
            } catch (\Throwable $error) {
                Ending::stopWatching();
                $this->send('failed', describe($error));
                return;
            }
        }
        Ending::stopWatching();
        $this->send('ready');
        $this->serve();
    }

    private function serve(): void
    {
        // Interrupts the waiting, should a process of a worker hold its lifeline.
        \pcntl_async_signals(true);
        \pcntl_signal(\SIGCHLD, static fn () => null, false);
        while (true) {
            $readable = [$this->control, ...$this->children];
            $others = null;
            if (@\socket_select($readable, $others, $others, null) && \in_array($this->control, $readable, true)) {
                [$order, $descriptors] = receive($this->control);
                if ($order === '') {
                    return;
                }
                [$command, $number, $place] = \explode("\0", $order) + ['', '', ''];
                if ($command === 'fork' && $this->fork($number, $place, $descriptors)) {
                    return;
                }
            }
            $this->reap();
        }
    }

    /** Whether this is the worker, whose requests have ended. */
    private function fork(string $number, string $place, array $descriptors): bool
    {
        \socket_create_pair(\AF_UNIX, \SOCK_STREAM, 0, $lifeline);
        $pid = \pcntl_fork();
        if ($pid === 0) {
            \pcntl_signal(\SIGCHLD, \SIG_DFL);
            \pcntl_async_signals(false);
            \socket_close($this->control);
            $this->children = [];
            $GLOBALS['serow.lifeline'] = $lifeline[1];
            \cli_set_process_title('serow ' . self::$settings['name'] . ": worker $place");
            \mt_srand();
            Worker::run($this->application, $descriptors);
            return true;
        }
        if ($pid > 0) {
            $this->children[$pid] = $lifeline[0];
            $this->send('forked', $number, (string) $pid);
        } else {
            $this->send('unforked', $number, \pcntl_strerror(\pcntl_get_last_error()));
        }
        return false;
    }

    /** Only for our own children: the application may wait for its own. */
    private function reap(): void
    {
        foreach ($this->children as $pid => $lifeline) {
            $ended = \pcntl_waitpid($pid, $status, \WNOHANG);
            if ($ended === 0) {
                // One that closes its lifeline and lives on is found by its signal.
                if (@\socket_recv($lifeline, $nothing, 1, \MSG_PEEK | \MSG_DONTWAIT) === 0) {
                    // The signal of its end interrupts this.
                    do {
                        $ended = \pcntl_waitpid($pid, $status);
                    } while ($ended < 0 && \pcntl_get_last_error() === \PCNTL_EINTR);
                } else {
                    continue;
                }
            }
            unset($this->children[$pid]);
            if ($ended > 0) {
                $how = \pcntl_wifsignaled($status) ? 'killed by signal ' . \pcntl_wtermsig($status)
                    : 'exit status ' . \pcntl_wexitstatus($status);
                $this->send('exited', (string) $pid, $how);
            }
        }
    }

    private function send(string ...$parts): void
    {
        // Where Serow is gone, receiving reports it.
        @\socket_write($this->control, \substr(\implode("\0", $parts), 0, PIECE));
    }
}

/** Receives a packet with its descriptors, files as streams; an empty one when the other end is closed. */
function receive(\Socket $socket): array
{
    do {
        $message = ['buffer_size' => PACKET, 'controllen' => \socket_cmsg_space(\SOL_SOCKET, \SCM_RIGHTS, DESCRIPTORS)];
        $length = @\socket_recvmsg($socket, $message, \MSG_CMSG_CLOEXEC);
    } while ($length === false && \socket_last_error($socket) === \SOCKET_EINTR);
    if (!$length) {
        return ['', []];
    }
    return [$message['iov'][0], $message['control'][0]['data'] ?? []];
}

/** A socket that was received, which may be there as a stream. @param \Socket|resource $received */
function socket_of($received): \Socket
{
    return $received instanceof \Socket ? $received : \socket_import_stream($received);
}

/** The text of an exception with its stack trace, without the frames of this bridge. */
function describe(\Throwable $error): string
{
    if ($error instanceof Unusable) {
        return $error->getMessage();
    }
    $lines = \explode("\n", (string) $error);
    $is_own = static fn (string $line) => \preg_match('/^#\d+ (Command line code|\{main\}|\[internal function\]: Serow\\\\)/', $line);
    $text = \implode("\n", \array_filter($lines, static fn ($line) => !$is_own($line)));
    return \substr(\preg_replace('/\nStack trace:\z/', '', $text), 0, PIECE);
}
?>
