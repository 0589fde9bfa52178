# Serow's bridge for PSGI, behind serow.pl.

# Answers requests, one after the other.
package Serow::Worker;

use Fcntl qw(O_RDONLY O_NONBLOCK O_NOCTTY);

use constant { WAITING => 0, STREAMING => 1, ANSWERED => 2 };

my ($requests, @replies);
my $packet  = '';
my $empty   = input('');    # the body of requests without one
my $cleanup = [];           # what the application wants to be called when it has answered

# Of the current request: its ticket, where replies go, the state of the response, and whether the worker stays busy
# after the response is complete.
my ($ticket, $reply, $state, $goes_on);

# The part that all environments have in common.
my %constants = (
    SCRIPT_NAME              => '',
    'psgi.version'           => [ 1, 1 ],
    'psgi.errors'            => \*STDERR,
    'psgi.multithread'       => !!0,
    'psgi.multiprocess'      => !!1,
    'psgi.run_once'          => !!0,
    'psgi.nonblocking'       => !!0,
    'psgi.streaming'         => !!1,
    'psgix.input.buffered'   => !!1,
    'psgix.harakiri'         => !!1,
    'psgix.cleanup'          => !!1,
    'psgix.cleanup.handlers' => $cleanup,
    'psgix.informational'    => \&inform,
);
# Names from a hash are not hashed again when they are put into others.
my @constants = %constants;
# And names that are in a hash need not be made for others: those of most requests stay in this one.
my %names = map { $_ => 1 } qw(
    REQUEST_METHOD PATH_INFO QUERY_STRING REQUEST_URI SERVER_PROTOCOL psgi.url_scheme SERVER_NAME SERVER_PORT REMOTE_ADDR
    REMOTE_PORT CONTENT_LENGTH CONTENT_TYPE HTTP_HOST HTTP_USER_AGENT HTTP_ACCEPT HTTP_ACCEPT_LANGUAGE HTTP_ACCEPT_ENCODING
    HTTP_CONNECTION HTTP_COOKIE HTTP_REFERER HTTP_ORIGIN HTTP_CACHE_CONTROL HTTP_UPGRADE_INSECURE_REQUESTS HTTP_PRIORITY
    HTTP_IF_NONE_MATCH HTTP_IF_MODIFIED_SINCE HTTP_SEC_FETCH_DEST HTTP_SEC_FETCH_MODE HTTP_SEC_FETCH_SITE HTTP_SEC_FETCH_USER
    HTTP_SEC_CH_UA HTTP_SEC_CH_UA_MOBILE HTTP_SEC_CH_UA_PLATFORM
);

sub run {
    (my $app, $requests, my $output, @replies) = @_;
    open STDOUT, '>&', $output or die "standard output: $!\n";
    open STDERR, '>&', $output or die "standard error: $!\n";
    close $output;
    STDOUT->autoflush;
    $app = eval { Serow::Application::load($settings{application}) } unless $settings{preload};
    if (!$app) {
        send $requests, "failed\0" . Serow::describe($@), Serow::NOSIGNAL;
        exit 1;
    }
    Serow::trace() if $settings{development};
    send $requests, 'ready', Serow::NOSIGNAL;
    serve($app);
}

# Until there are no more requests. Short responses are sent from here, because further calls would cost more than their
# work.
sub serve {
    my ($app) = @_;
    while (1) {
        my $length = sysread $requests, $packet, Serow::PACKET;
        if (!$length) {
            next if !defined $length && $! == Serow::EINTR;
            return;
        }
        my $kind = ord $packet;
        next if $kind == 99;    # c: the response has already ended
        $ticket  = substr $packet, 0, 10;
        $reply   = $replies[ ord(substr $ticket, 1) - 33 ];
        $state   = WAITING;
        $goes_on = 0;
        my $file = $kind == 102 ? file() : undef;    # f
        if ($kind == 102 && !$file) {
            say_to_front("E$ticket");
            next;
        }
        my %env
            = $kind == 114                           # r
            ? (@constants, 'psgi.input' => $empty, unpack 'x10 (N/a*)*', $packet)
            : (@constants, with_body($file));
        $env{'psgix.io'} = Serow::Socket::offer() if exists $env{HTTP_UPGRADE};
        eval {
            my $response = $app->(\%env);
            if ($state == ANSWERED) {
                # It writes to its own socket.
                delay($response) if ref $response ne 'ARRAY';
            }
            elsif (ref $response ne 'ARRAY' || @$cleanup || $env{'psgix.harakiri.commit'}) {
                $goes_on = 1;
                ref $response eq 'ARRAY' ? respond($response) : delay($response);
            }
            elsif (ref $response->[2] eq 'ARRAY'
                && length(my $whole = head($response) . join '', @{ $response->[2] }) <= Serow::PIECE)
            {
                send $reply, "R$whole", Serow::NOSIGNAL or unsent("R$whole");
            }
            else {
                respond($response);
            }
            1;
        } or fail($@, \%env);
        return if $goes_on && !rest(\%env);
        $empty = input('') unless defined fileno $empty;    # the application may have closed it
    }
}

sub with_body {
    my ($file) = @_;
    my $length = substr $packet, 10, 8;
    my $input  = $file // input(substr $packet, 18 + $length);
    return 'psgi.input' => $input, unpack '(N/a*)*', substr $packet, 18, $length;
}

sub input {
    my ($text) = @_;
    open my $handle, '<:raw', \$text or die "a body cannot be read: $!\n";
    return $handle;
}

# The request body that Serow keeps in an unnamed file; undefined if nobody waits for the response any more.
sub file {
    say_to_front("G$ticket");
    my ($answer, $handle) = Serow::Kernel::receive($reply);
    ($answer, $handle) = Serow::Kernel::receive($reply) while !defined $answer && $! == Serow::EINTR;
    seek $handle, 0, 0 if $handle;    # a worker that crashed may have read some of it
    return $handle;
}

# The head: ticket, status, names and values.
sub head {
    my ($response) = @_;
    my $headers = $response->[1];
    my $head = join "\0", $ticket, $response->[0], @$headers;
    # A NUL in a value would split one field in two.
    refuse($response) if ($head =~ tr/\0-\x08\n-\x1f//) != 1 + @$headers || @$headers % 2;
    # An empty name would end the head. Values may be empty.
    refuse($response) if index($head, "\0\0") >= 0 && grep { $_ % 2 == 0 && $headers->[$_] eq '' } 0 .. $#$headers;
    return "$head\0\0";
}

sub refuse {
    my ($response) = @_;
    my ($status, $headers) = @$response;
    die "the response has a header field without a value\n" if @$headers % 2;
    die "the response has a header field without a name\n" if grep { $_ % 2 == 0 && $headers->[$_] eq '' } 0 .. $#$headers;
    for my $place (grep { $headers->[$_] =~ /[\0-\x08\n-\x1f]/ } 0 .. $#$headers) {
        my $name = $headers->[ $place - $place % 2 ] =~ s/[^!-~]/?/gr;
        die "the response's header field $name has control characters\n";
    }
    die "the response's status has control characters\n";
}

# Answers with a response of three parts.
sub respond {
    my ($response) = @_;
    my $head      = head($response);
    my $body      = $response->[2];
    my $announced = announced($response);
    if (ref $body ne 'ARRAY') {
        my $is_file = is_file($body);
        return if hand_over($body, $is_file, $head, $announced);
        return stream($body, $head) unless $is_file && left($body) <= Serow::PIECE;
        $body = [ slurp($body) ];
    }
    my $whole = join '', @$body;
    return finish("R$head$whole") if length($head) + length $whole <= Serow::PIECE;
    utf8::downgrade($whole, 1) or die "Wide character in send\n";
    $head = head([ $response->[0], [ @{ $response->[1] }, 'Content-Length' => length $whole ] ]) unless defined $announced;
    begin($head);
    send_piece($whole);
    finish("E$ticket");
}

# The Content-Length that the application set.
sub announced {
    my ($response) = @_;
    my $headers = $response->[1];
    my ($place) = grep { $_ % 2 == 0 && lc $headers->[$_] eq 'content-length' } 0 .. $#$headers;
    return defined $place ? $headers->[ $place + 1 ] : undef;
}

sub stream {
    my ($body, $head) = @_;
    eval { $body->can('getline') } or die "the response's body is neither an array nor a filehandle\n";
    # Mojolicious encodes the chunks for which it sets Transfer-Encoding.
    substr $head, -2, 2, "\0serow.encoded\0chunked\0\0" if ref $body eq 'Mojo::Server::PSGI::_IO';
    begin($head);
    local $/ = \Serow::PIECE;
    my $is_whole = eval {
        while (defined(my $piece = $body->getline)) {
            send_piece($piece);
        }
        1;
    };
    my $error = $@;
    if (!$is_whole) {
        eval { $body->close };
        die $error;
    }
    # The client need not wait until the body is closed, but the next request does.
    $goes_on = 1;
    finish("E$ticket");
    $body->close;
}

# Whether a body is a file of the file system that is read as it is.
sub is_file {
    my ($body) = @_;
    return unless (Serow::reftype($body) // '') eq 'GLOB' && (fileno($body) // -1) >= 0;
    return if Serow::blessed($body) && $body->can('getline') != \&IO::Handle::getline;
    return -f $body && !grep { $_ ne 'unix' && $_ ne 'perlio' } PerlIO::get_layers($body);
}

# Opens the file at this path if it is a regular file. Opening must not block on a pipe.
sub regular_file {
    my ($path) = @_;
    return unless defined $path && sysopen my $file, $path, O_RDONLY | O_NONBLOCK | O_NOCTTY;
    return -f $file ? $file : undef;
}

sub left {
    my ($file) = @_;
    return (-s $file) - tell $file;
}

sub slurp {
    my ($file) = @_;
    local $/;
    my $content = $file->getline // '';
    $file->close;
    return $content;
}

# Lets Serow send the body if it is a file, from its current position; returns whether it does.
sub hand_over {
    my ($body, $is_file, $head, $announced) = @_;
    if ($is_file) {
        my ($offset, $left) = (tell $body, left($body));
        return if $left <= Serow::PIECE || $left < ($announced // 0);
        finish("F$head$offset", $body);
    }
    else {
        # Callbacks after the response may delete the file.
        return if $goes_on || !Serow::blessed($body) || !$body->can('path');
        my $file = regular_file($body->path) // return;
        return if !-s $file || -s _ < ($announced // 0);
        finish("F$head", $file);
    }
    $body->close;
    return 1;
}

# A delayed response: the application answers when it is ready, and the worker is free when the callback returns.
sub delay {
    my ($response) = @_;
    my $begin = Serow::code_of($response) // die "the response is neither an array nor a code reference\n";
    $begin->(sub {
        my ($given) = @_;
        die "a second response is given\n" if $state != WAITING;
        return respond($given) if @$given > 2;
        begin(head($given));
        my $name = $ticket;
        return bless \$name, 'Serow::Writer';
    });
    die "the application returned without a response\n" if $state == WAITING;
    finish("E$ticket") if $state == STREAMING;
}

# An informational response (1xx): psgix.informational.
sub inform {
    my ($status, $headers) = @_;
    say_to_front('I' . head([ $status, $headers ])) if $state == WAITING;
}

# The application writes the response to the other end of this socket.
sub take_over {
    my ($socket) = @_;
    return if $state != WAITING;
    $goes_on = 1;
    send_along("U$ticket", $socket);
    $state = ANSWERED;
}

sub begin {
    my ($head) = @_;
    say_to_front("H$head");
    $state = STREAMING;
}

sub send_piece {
    my ($piece) = @_;
    utf8::downgrade($piece, 1) or die "Wide character in send\n";
    for (my $place = 0; $place < length $piece; $place += Serow::PIECE) {
        my $is_there = defined recv $requests, my $next, 10, Serow::LOOK;
        die Serow::GONE if $is_there && $next =~ /\Ac/ && substr($next, 2) eq substr $ticket, 2;
        say_to_front("B$ticket" . substr $piece, $place, Serow::PIECE);
    }
}

# Sends the packet that completes the response, perhaps with a file. The kind is in lower case if the worker stays busy.
sub finish {
    my ($last, $file) = @_;
    $goes_on = 1 if @$cleanup;
    $last = lcfirst $last if $goes_on;
    $file ? send_along($last, $file) : say_to_front($last);
    $state = ANSWERED;
}

sub send_along {
    my ($packet, $file) = @_;
    say_to_front("S$ticket");
    until (Serow::Kernel::send_along($reply, $packet, $file)) {
        die "a file cannot be sent: $!\n" if $! != Serow::EINTR;
    }
}

sub say_to_front {
    my ($packet) = @_;
    send $reply, $packet, Serow::NOSIGNAL or unsent($packet);
}

sub unsent {
    my ($packet) = @_;
    while ($! == Serow::EINTR) {
        return if send $reply, $packet, Serow::NOSIGNAL;
    }
    die "the response's header is too long\n" if $! == Serow::EMSGSIZE;
}

sub fail {
    my ($error, $env) = @_;
    my $is_gone = !ref $error && $error eq Serow::GONE;
    my $text = Serow::describe($error);
    print STDERR "$text\n" unless $is_gone;
    return if $state == ANSWERED;
    $goes_on = 1 if $env->{'psgix.harakiri.commit'};
    finish($is_gone ? "E$ticket" : "X$ticket$text");
}

# Work to do after the response; returns whether the worker takes another request.
sub rest {
    my ($env) = @_;
    for my $handler (splice @$cleanup) {
        eval { $handler->($env); 1 } or print STDERR 'a cleanup handler failed: ' . Serow::describe($@) . "\n";
    }
    if ($env->{'psgix.harakiri.commit'}) {
        send $requests, 'draining', Serow::NOSIGNAL;
        return 0;
    }
    say_to_front("D$ticket");
    return 1;
}

# The client's connection, for applications that want to speak another protocol: psgix.io. Serow stays between them. The
# application has it when it does something with it; until then it may answer as usual.
package Serow::Socket;

sub offer {
    socketpair my $ours, my $theirs, 1, 1, 0 or return;    # AF_UNIX, SOCK_STREAM
    tie *$ours, __PACKAGE__, $ours, $theirs;
    return $ours;
}

sub TIEHANDLE {
    my ($class, $ours, $theirs) = @_;
    my $self = bless { ours => $ours, theirs => $theirs, ticket => $ticket }, $class;
    Scalar::Util::weaken($self->{ours});
    return $self;
}

# From now on it is an ordinary socket.
sub take {
    my ($self) = @_;
    my ($ours, $theirs) = @$self{qw(ours theirs)};
    no warnings 'untie';
    untie *$ours;
    Serow::Worker::take_over($theirs) if $self->{ticket} eq $ticket;
    return $ours;
}

sub FILENO   { fileno take(shift) }
sub BINMODE  { my $socket = take(shift); @_ ? binmode $socket, $_[0] : binmode $socket }
sub PRINT    { my $socket = take(shift); print $socket @_ }
sub PRINTF   { my $socket = take(shift); printf $socket @_ }
sub WRITE    { my $socket = take(shift); syswrite $socket, $_[0], $_[1] // length $_[0], $_[2] // 0 }
sub READ     { my $socket = take(shift); sysread $socket, $_[0], $_[1], $_[2] // 0 }
sub READLINE { my $socket = take(shift); readline $socket }
sub GETC     { getc take(shift) }
sub EOF      { eof take(shift) }
sub CLOSE    { close take(shift) }

# Writes a body piece by piece.
package Serow::Writer;

sub write {
    my ($self, $piece) = @_;
    die "this response has ended\n" if $$self ne $ticket || $state != Serow::Worker::STREAMING;
    Serow::Worker::send_piece($piece);
    return length $piece;
}

sub close {
    my ($self) = @_;
    Serow::Worker::finish("E$ticket") if $$self eq $ticket && $state == Serow::Worker::STREAMING;
    return 1;
}

Serow::TemplateProcess::run();
