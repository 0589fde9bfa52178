package Plack::Handler::Serow;

# plackup -s Serow: hands over to the program `serow`, with the options of Gazelle and Starlet.

use strict;
use warnings;

use File::Spec;

# packages/build writes the version of the workspace.
our $VERSION = '0';

# Where the channels put the program, after the PATH: services and cron run with a short one.
my @HOME_FOLDERS = (
    '.cargo/bin',                     # cargo
    '.local/bin',                     # pip, uv, pipx
    '.gem/ruby/*/bin', '.local/share/gem/ruby/*/bin',
    '.nix-profile/bin', '.linuxbrew/bin',
);
my @SYSTEM_FOLDERS = qw(/usr/local/bin /usr/bin /home/linuxbrew/.linuxbrew/bin /run/current-system/sw/bin);
# In the application's folder.
my @PROJECT_FOLDERS = qw(node_modules/.bin .venv/bin venv/bin);

# Gazelle's options, and Serow's words for them. Those that take no value here mean nothing to Serow.
my %WORDS = (
    max_workers        => 'processes',
    workers            => 'processes',
    timeout            => 'app-timeout',
    max_reqs_per_child => 'max-requests',
    max_requests       => 'max-requests',
    min_reqs_per_child => 'min-requests',
    spawn_interval     => 'spawn-interval',
);
my %SECONDS = map { $_ => 1 } qw(app-timeout spawn-interval);
# Gazelle's defaults, where they are others than Serow's.
my %DEFAULTS = (processes => 10, 'app-timeout' => '300s', 'max-requests' => 1000);
# Options that are ignored: Serow does them by itself, or has nothing to do for them.
my %PASSED_OVER = map { $_ => 1 } qw(
    child_exit err_respawn_interval keepalive keepalive_timeout max_keepalive_reqs server_software server_ready listen
    host port socket interval
);

sub new {
    my ($class, %options) = @_;
    return bless {%options}, $class;
}

sub run {
    my ($self) = @_;
    my $runner = _runner();
    my @command = $self->command($runner);
    exec {$command[0]} @command or die "$command[0] cannot be run: $!\n";
}

# The path of the program: $SEROW, or the first in the PATH, the application's folder, and the folders of the channels.
sub program {
    if (defined $ENV{SEROW} && length $ENV{SEROW}) {
        return $ENV{SEROW} if $ENV{SEROW} !~ m{/} || _is_program($ENV{SEROW});
        die "$ENV{SEROW} is not a program: correct \$SEROW\n";
    }
    my @folders = (File::Spec->path, @PROJECT_FOLDERS);
    push @folders, "$ENV{GEM_HOME}/bin" if defined $ENV{GEM_HOME};
    push @folders, map { glob _quoted($ENV{HOME}) . "/$_" } @HOME_FOLDERS if defined $ENV{HOME};
    for my $folder (@folders, @SYSTEM_FOLDERS) {
        my $path = File::Spec->catfile($folder, 'serow');
        return $path if _is_program($path);
    }
    die "plackup -s Serow: the program serow is not installed: run cargo install serow-cli, pip install serow or "
        . "gem install serow, install the package of your system, or name the program in \$SEROW\n";
}

sub _is_program {
    my ($path) = @_;
    return -f $path && -x _;
}

# A folder's name for glob, without its special characters.
sub _quoted {
    my ($name) = @_;
    $name =~ s/([\\\s{}\[\]*?~'"])/\\$1/g;
    return $name;
}

# The command line of Serow that does the same.
sub command {
    my ($self, $runner) = @_;
    die "plackup -s Serow takes a file: there is none behind -e\n" if $runner->{eval};
    die "plackup -s Serow stays in the foreground: leave out -D, and let systemd or serow run start it\n" if $runner->{daemonize};
    die "plackup -s Serow: leave out --path, and mount the application with Plack::Builder\n" if $runner->{path};

    my $file = $runner->{app} || $runner->{argv}[0] || 'app.psgi';
    my %chosen = %DEFAULTS;
    for my $name (sort keys %$self) {
        if (my $word = $WORDS{$name}) {
            my $value = $self->{$name};
            next unless defined $value;
            delete $chosen{$word} && next if $word eq 'max-requests' && !$value;
            $chosen{$word} = $SECONDS{$word} && $value =~ /^[0-9.]+$/ ? "${value}s" : $value;
        } elsif (!$PASSED_OVER{$name}) {
            (my $option = $name) =~ tr/_/-/;
            die "plackup -s Serow knows no --$option; see serow app --help\n";
        }
    }
    delete $chosen{'min-requests'} if !$chosen{'max-requests'};
    my @perl = ('perl', (map { "-I$_" } @{ $runner->{includes} || [] }), (map { "-M$_" } @{ $runner->{modules} || [] }));
    my @command = (program(), 'app', $file, '--interface', 'psgi', '--interpreter', "@perl");
    push @command, map { ("--$_", $chosen{$_}) } sort keys %chosen;
    # A supervisor's sockets are found by Serow itself.
    push @command, $self->listeners unless defined $ENV{SERVER_STARTER_PORT} || defined $ENV{LISTEN_FDS};
    push @command, '--access-log', $runner->{access_log} if $runner->{access_log};
    push @command, '--dev' if ($ENV{PLACK_ENV} || '') eq 'development' && ($runner->{loader} || '') eq 'Restarter';
    return @command;
}

sub listeners {
    my ($self) = @_;
    my @addresses = @{ $self->{listen} || [] };
    @addresses = defined $self->{socket} ? ($self->{socket}) : (($self->{host} // '') . ':' . ($self->{port} || 5000)) unless @addresses;
    return map { ('--listen', m{/} ? "unix:$_" : $_) } @addresses;
}

# The Plack::Runner that called us: it alone knows the file.
sub _runner {
    package DB;
    my $level = 0;
    while (my @frame = caller $level++) {
        my $first = $DB::args[0];
        return $first if ref $first && UNIVERSAL::isa($first, 'Plack::Runner');
    }
    die "Plack::Handler::Serow runs files: start it with plackup -s Serow app.psgi\n";
}

1;

__END__

=head1 NAME

Plack::Handler::Serow - run a PSGI application with Serow

=head1 SYNOPSIS

    plackup -s Serow --max-workers 8 --max-reqs-per-child 1000 --port 8080 app.psgi

=head1 DESCRIPTION

Replaces C<plackup> with the program C<serow>, which loads the application itself. The options are those of L<Gazelle>:
C<--max-workers>, C<--timeout>, C<--max-reqs-per-child>, C<--min-reqs-per-child>, C<--spawn-interval>, with its defaults.
C<start_server --port 8080 -- plackup -s Serow app.psgi> works as well.

=head1 INSTALLATION

The handler is a Perl module without a program. Install the program in any way that Serow offers:

    cargo install serow-cli      # ~/.cargo/bin
    pip install --user serow     # ~/.local/bin
    gem install serow
    npm install serow            # node_modules/.bin in the application's folder
    apt install ./serow_*.deb    # Debian and Ubuntu

or unpack the archive for your processor and copy C<serow> into a folder in the C<PATH>. All of them contain the same
static program, which needs no libraries.

Then install the module:

    cpanm Plack::Handler::Serow

or, from its archive: C<perl Makefile.PL && make test && make install>.

The handler looks for the program in the C<PATH>, in C<node_modules/.bin>, C<.venv/bin> and C<venv/bin> of the working
directory, and in the folders above. C<$SEROW> names another one.

=head1 LICENSE

MIT OR Apache-2.0

=cut
