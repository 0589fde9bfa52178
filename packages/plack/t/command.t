# The command line of Serow for options of plackup.

use strict;
use warnings;

use Test::More;

use Plack::Handler::Serow;

local $ENV{SEROW} = 'serow';
delete local @ENV{qw(SERVER_STARTER_PORT LISTEN_FDS PLACK_ENV)};

# The command for options of the handler and of plackup.
sub command {
    my ($options, $runner) = @_;
    my $handler = Plack::Handler::Serow->new(%$options);
    my @words = eval { $handler->command({ argv => ['app.psgi'], %{ $runner || {} } }) };
    return $@ || "@words";
}

like(command({}), qr/^serow app app\.psgi --interface psgi --interpreter perl /, 'the application of plackup');
like(command({}), qr/--app-timeout 300s --max-requests 1000 --processes 10 --listen :5000$/, 'the defaults of Gazelle');
like(command({ max_workers => 3, timeout => 5 }), qr/--app-timeout 5s .*--processes 3 /, 'options of Gazelle');
like(command({ host => '127.0.0.1', port => 80 }), qr/--listen 127\.0\.0\.1:80$/, 'an address');
like(command({ socket => '/run/a.sock' }), qr{--listen unix:/run/a\.sock$}, 'a unix socket');
unlike(command({ max_reqs_per_child => 0, min_reqs_per_child => 5 }), qr/-requests/, 'no limit of requests');
like(command({}, { includes => ['lib'], modules => ['Moose'] }), qr/--interpreter perl -Ilib -MMoose /, '-I and -M');
like(command({ colour => 1 }), qr/knows no --colour/, 'an unknown option');
like(command({}, { eval => 'sub {}' }), qr/takes a file/, '-e');
like(command({}, { daemonize => 1 }), qr/stays in the foreground/, '-D');
{
    local $ENV{SERVER_STARTER_PORT} = '80=3';
    unlike(command({}), qr/--listen/, 'sockets of a supervisor');
}

done_testing;
