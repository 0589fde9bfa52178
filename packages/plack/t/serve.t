# plackup -s Serow serves a page, if the program is installed.

use strict;
use warnings;

use File::Spec;
use File::Temp 'tempdir';
use HTTP::Tiny;
use IO::Socket::INET;
use Test::More;

use Plack::Handler::Serow;

eval { Plack::Handler::Serow::program() } or plan skip_all => "needs the program: $@";

# How long a slow machine may take to start Serow and Perl, and between two attempts, in seconds.
use constant { LIMIT => 30, PAUSE => 0.05 };

my $folder = tempdir(CLEANUP => 1);
open my $file, '>', "$folder/app.psgi" or die $!;
print $file 'sub { [200, ["Content-Type", "text/plain"], ["a page"]] };';
close $file or die $!;

my $port = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')->sockport;
my ($plackup) = grep { -x } map { "$_/plackup" } File::Spec->path;
plan skip_all => 'needs plackup in the PATH' unless $plackup;
defined(my $pid = fork) or die $!;
if (!$pid) {
    # In a group of its own, so that nothing stays if plackup did not replace itself.
    setpgrp;
    open STDOUT, '>', "$folder/log" or die $!;
    open STDERR, '>&', \*STDOUT or die $!;
    # The script may name another Perl.
    exec $^X, (map { "-I$_" } @INC), $plackup, qw(-s Serow --max-workers 1 --host 127.0.0.1), '--port', $port,
        "$folder/app.psgi";
}

my $response;
for (1 .. LIMIT / PAUSE) {
    $response = HTTP::Tiny->new(timeout => LIMIT)->get("http://127.0.0.1:$port/");
    last if $response->{success} || waitpid($pid, 1) == $pid;
    select undef, undef, undef, PAUSE;
}
is($response->{content}, 'a page', 'the page');
kill TERM => $pid;
waitpid $pid, 0;
my $status = $?;
ok(!kill(KILL => -$pid), 'nothing stays');
is($status, 0, 'TERM ends Serow, which has replaced plackup');

done_testing;
