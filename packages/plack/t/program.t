# Where the handler finds the program.

use strict;
use warnings;

use Cwd ();
use File::Path 'make_path';
use File::Temp 'tempdir';
use Test::More;

use Plack::Handler::Serow;

my $home = tempdir(CLEANUP => 1) . '/a home';
make_path($home);
my $before = Cwd::getcwd();
chdir $home or die $!;
delete local @ENV{qw(SEROW GEM_HOME)};
local $ENV{HOME} = $home;
local $ENV{PATH} = "$home/path";

# Writes a program, and returns its path.
sub write_program {
    my ($folder) = @_;
    make_path("$home/$folder");
    open my $file, '>', "$home/$folder/serow" or die $!;
    print $file "#!/bin/sh\n";
    close $file or die $!;
    chmod 0755, "$home/$folder/serow" or die $!;
    return "$home/$folder/serow";
}

sub found { return eval { Plack::Handler::Serow::program() } // "error: $@" }

SKIP: {
    skip 'the program is installed on this machine', 1 if grep { -x "$_/serow" } qw(/usr/local/bin /usr/bin);
    like(found(), qr/^error: .*not installed: run cargo install serow-cli.*\$SEROW/, 'advice without a program');
}

# Each is found before those above it.
for my $folder ('.local/share/gem/ruby/3.1.0/bin', '.local/bin', '.cargo/bin') {
    my $path = write_program($folder);
    is(found(), $path, "a program in ~/$folder");
}
write_program('gems/bin');
{
    local $ENV{GEM_HOME} = "$home/gems";
    is(found(), "$home/gems/bin/serow", 'a program in $GEM_HOME');
}
write_program('node_modules/.bin');
is(found(), 'node_modules/.bin/serow', 'a program of npm in the working directory');
my $path = write_program('path');
is(found(), $path, 'a program in the PATH');

chmod 0644, $path or die $!;
is(found(), 'node_modules/.bin/serow', 'a file in the PATH that is not executable');

my $named = write_program('named');
{
    local $ENV{SEROW} = $named;
    is(found(), $named, '$SEROW');
    local $ENV{SEROW} = "$home/missing/serow";
    like(found(), qr/^error: .*is not a program: correct \$SEROW/, '$SEROW names a missing file');
}

chdir $before or die $!;
done_testing;
