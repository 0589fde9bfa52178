#!/usr/bin/perl
# suite.pl PORT: the requests of Plack::Test::Suite to a server at this port, which has suite.psgi; TAP tells what came.
use strict;
use warnings;

use Plack::LWPish;
use Plack::Test::Suite;
use Test::More;

my ($port) = @ARGV or die "usage: suite.pl PORT\n";
my $client = Plack::LWPish->new(no_proxy => ['127.0.0.1'], timeout => 10);
my @cases  = @Plack::Test::Suite::TEST;

for my $place (0 .. $#cases) {
    my ($name, $case) = @{ $cases[$place] };
    my $ask = sub {
        my ($request) = @_;
        $request->uri->port($port);
        $request->header('X-Plack-Test' => $place);
        return $client->request($request);
    };
    subtest $name => sub {
        eval { $case->($ask); 1 } or fail("died: $@");
        done_testing;
    };
}
done_testing;
