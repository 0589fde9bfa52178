# A dot, or 8 MB in pieces.
my $piece = 'x' x 80_000;
sub {
    my ($env) = @_;
    return [ 200, [ 'Content-Type' => 'text/plain' ], ['.'] ] if $env->{PATH_INFO} ne '/long';
    return sub {
        my $writer = shift->([ 200, [ 'Content-Type' => 'text/plain', 'Content-Length' => 8_000_000 ] ]);
        $writer->write($piece) for 1 .. 100;
        $writer->close;
    };
};
