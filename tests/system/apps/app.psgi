# The same as config.ru answers, as far as deploys need it.
use strict;
use warnings;

my $version = $ENV{VERSION} // '';

sub content {
    my ($seed, $size) = @_;
    my $line = "$seed\n";
    return substr $line x (int($size / length $line) + 1), 0, $size;
}

sub {
    my ($env) = @_;
    my $id = $env->{HTTP_X_ID} // '';
    my (undef, $what, $number) = split m{/}, $env->{PATH_INFO};
    if ($env->{REQUEST_METHOD} eq 'POST') {
        open my $done, '>>', $ENV{DONE} or die "$ENV{DONE}: $!";
        syswrite $done, "$id\n";
    }
    return [200, ['Content-Type' => 'text/plain', 'X-Id' => $id], [content($id, $number)]] if $what eq 'bytes';
    return [200, [], [$version]] if $what eq 'version';
    return [404, [], []];
};
