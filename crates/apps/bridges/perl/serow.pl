# Serow's bridge for Perl; psgi.pl follows, which has the worker. It is read from standard input, which is the channel
# to Serow; src/messages.rs describes the protocol. It needs only modules of Perl's core.

use strict;
use warnings;

package Serow;

use Config;
use Cwd ();      # here, before the application's folders are searched
use IO::File;    # methods of filehandles: loaded here, workers share them
use Scalar::Util qw(blessed reftype);

use constant {
    PACKET   => 512 * 1024,     # longer than any packet
    PIECE    => 64 * 1024,      # of a body: two fit into the socket's buffer
    NOSIGNAL => 0x4000,         # these are Linux's numbers, the same on all processors
    LOOK     => 0x2 | 0x40,     # MSG_PEEK, MSG_DONTWAIT
    CLOEXEC  => 0x4000_0000,    # MSG_CMSG_CLOEXEC
    SOCKET   => 1,              # SOL_SOCKET
    RIGHTS   => 1,              # SCM_RIGHTS
    NOHANG   => 1,
    CHILD    => 17,
    SETMASK  => 2,
    EINTR    => 4,
    EMSGSIZE => 90,
    GONE     => "the client is gone\n",
};

my %settings;
# In development: the last exception and its stack trace.
my ($traced, $trace);

# The text of an exception, in one packet.
sub describe {
    my ($error) = @_;
    my $text = eval { "$error" } // '';
    $text = 'it died without a message' if $text eq '';
    $text = "the response has wide characters: encode it, as with Encode::encode('UTF-8', ...)" if $text =~ /\AWide character in send/;
    $text .= $trace if $trace && !ref $error && $error eq $traced;
    utf8::encode($text) if utf8::is_utf8($text);
    return substr $text =~ s/\n+\z//r, 0, PIECE;
}

# Records stack traces of exceptions from now on, unless the application has its own handler.
sub trace {
    return if $SIG{__DIE__};
    $SIG{__DIE__} = sub {
        my ($error) = @_;
        return if ref $error || (caller)[1] eq 'serow.pl';
        ($traced, $trace) = ($error, $error =~ /\n\z/ ? '' : "\n");
        for (my $depth = 1; my (undef, $file, $line, $name) = caller $depth; $depth++) {
            last if $file eq 'serow.pl';
            $name =~ s/\APlack::Sandbox::\w+:://;
            $trace .= "    $name called at $file line $line\n";
        }
    };
}

# The code of a code reference, or of an object that can be called as one; undefined for anything else.
sub code_of {
    my ($value) = @_;
    return ref $value ? eval { \&$value } : undef;
}

# System calls for which Perl has no function.
package Serow::Kernel;

my %NUMBERS = (
    x86_64  => { sendmsg => 46,  recvmsg => 47,  ppoll => 271, rt_sigprocmask => 14 },
    aarch64 => { sendmsg => 211, recvmsg => 212, ppoll => 73,  rt_sigprocmask => 135 },
);
my $numbers = $Config::Config{ptrsize} == 8 && $NUMBERS{ $Config::Config{archname} =~ s/-.*//r };

# Why they cannot be called, if they cannot.
sub lack {
    return $numbers ? undef : "Serow runs Perl on x86_64 and aarch64 (64 bits), and this is $Config::Config{archname}";
}

# Sets the signal mask; returns the previous one.
sub set_mask {
    my ($mask) = @_;
    my $before = pack 'Q', 0;
    syscall $numbers->{rt_sigprocmask}, Serow::SETMASK, $mask, $before, 8;
    return $before;
}

# Waits for a packet, with signals unblocked meanwhile; returns whether there is a packet.
sub wait_for {
    my ($channel) = @_;
    my $wanted = pack 'l s s', fileno $channel, 1, 0;
    my $mask   = pack 'Q', 0;
    return 1 if syscall($numbers->{ppoll}, $wanted, 1, 0, $mask, 8) > 0;
    die "waiting failed: $!\n" if $! != Serow::EINTR;
    return 0;
}

# Receives a packet with its filehandles; an empty list when the other end is closed.
sub receive {
    my ($channel) = @_;
    # Made by vec, since the kernel writes here, and Perl would share the memory of a constant.
    vec(my $text,      Serow::PIECE - 1, 8) = 0;
    vec(my $ancillary, Serow::PIECE - 1, 8) = 0;
    my $part    = pack 'P Q', $text, length $text;
    my $message = pack 'Q Q P Q P Q Q', 0, 0, $part, 1, $ancillary, length $ancillary, 0;
    $! = 0;
    my $length = syscall $numbers->{recvmsg}, fileno $channel, $message, Serow::CLOEXEC;
    return if $length <= 0;
    my @descriptors;
    if (unpack('x40 Q', $message) > 16) {
        @descriptors = unpack 'l*', substr $ancillary, 16, unpack('Q', $ancillary) - 16;
    }
    return substr($text, 0, $length), map { open_socket($_) } @descriptors;
}

# Sends a packet and a file; returns whether that succeeded.
sub send_along {
    my ($channel, $packet, $file) = @_;
    utf8::downgrade($packet);
    my $ancillary = pack 'Q l l l x4', 20, Serow::SOCKET, Serow::RIGHTS, fileno $file;
    my $part      = pack 'P Q', $packet, length $packet;
    my $message   = pack 'Q Q P Q P Q Q', 0, 0, $part, 1, $ancillary, length $ancillary, 0;
    return syscall($numbers->{sendmsg}, fileno $channel, $message, Serow::NOSIGNAL) >= 0;
}

sub open_socket {
    my ($descriptor) = @_;
    open my $handle, '+<&=', $descriptor or die "a socket came broken: $!\n";
    binmode $handle;
    return $handle;
}

# The process that forks workers. It loads the application first where that is to be shared.
package Serow::TemplateProcess;

my %pids;

sub run {
    open my $control, '+<&', \*STDIN or die "the channel to Serow: $!\n";
    binmode $control;    # PERL_UNICODE may say otherwise
    sysread $control, my $text, Serow::PACKET;
    %settings = split /\0/, $text, -1;
    open STDIN, '<', '/dev/null' or die "/dev/null: $!\n";
    STDOUT->autoflush;
    $0 = "serow $settings{name}: template";
    $ENV{PLACK_ENV} //= $settings{development} ? 'development' : 'deployment';
    my $lack = Serow::Kernel::lack();
    my $app = eval { die "$lack\n" if $lack; $settings{preload} ? Serow::Application::load($settings{application}) : 1 };
    return send $control, "failed\0" . Serow::describe($@), Serow::NOSIGNAL unless $app;
    send $control, 'ready', Serow::NOSIGNAL;
    serve($control, $app);
}

sub serve {
    my ($control, $app) = @_;
    my $theirs = $SIG{CHLD};
    # Without a handler there would be no interruption; with the mask there is one in wait_for only, so none is missed.
    local $SIG{CHLD} = sub { };
    my $mask = Serow::Kernel::set_mask(pack 'Q', 1 << (Serow::CHILD - 1));
    while (1) {
        reap($control);
        Serow::Kernel::wait_for($control) or next;
        my ($order, @handles) = Serow::Kernel::receive($control) or return;
        my ($command, $number, $place) = split /\0/, $order;
        next if $command ne 'fork';
        my $pid = fork;
        if (defined $pid && $pid == 0) {
            $SIG{CHLD} = $theirs // 'DEFAULT';
            Serow::Kernel::set_mask($mask);
            close $control;
            $0 = "serow $settings{name}: worker $place";
            srand;
            Serow::Worker::run($app, @handles);
            exit;
        }
        $pids{$pid} = 1 if $pid;
        send $control, $pid ? "forked\0$number\0$pid" : "unforked\0$number\0$!", Serow::NOSIGNAL;
    }
}

# Only for our own children: the application may wait for its own.
sub reap {
    my ($control) = @_;
    for my $pid (keys %pids) {
        my $ended = waitpid $pid, Serow::NOHANG or next;
        delete $pids{$pid};
        my $how = $? & 127 ? 'killed by signal ' . ($? & 127) : 'exit status ' . ($? >> 8);
        send $control, "exited\0$pid\0$how", Serow::NOSIGNAL if $ended > 0;
    }
}

# The application.
package Serow::Application;

# The last value of a file, which is run as plackup runs it: in a package of its own, with its own name in $0.
sub load {
    my ($name) = @_;
    my $is_module = $name =~ /\A\w+(?:::\w+)*\z/ && !-e $name;
    my $file = $is_module ? $name =~ s{::}{/}gr . '.pm' : Cwd::abs_path($name) // $name;
    local $0    = $file;
    local @ARGV = ();
    my $package = 'Plack::Sandbox::' . $file =~ s/(\W)/sprintf '_%2x', ord $1/egr;
    die "$file: $!\n" unless $is_module || -r $file;
    my $app = eval "package $package; my \$app = do \$file; die \$@ if \$@; \$app";
    die $@ if $@;
    # Serow frames bodies itself, and ignores Transfer-Encoding: otherwise it could not tell an application that sets the
    # field from this middleware, which also encodes the body.
    no warnings qw(redefine once);
    *Plack::Middleware::Chunked::call = sub { $_[0]->app->($_[1]) } if $INC{'Plack/Middleware/Chunked.pm'};
    my $code = Serow::code_of($app);
    return $code if $code;
    my $is = defined $app ? "'$app'" : 'undefined';
    die "$file: the last value of the file is to be a code reference, and is $is\n";
}
