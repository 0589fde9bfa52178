# A journal with remarks: a site in Mojolicious on SQLite. DATABASE is its file, SECRET what its sessions are signed with.
use Mojolicious::Lite -signatures;
use DBI;
use POSIX qw(strftime);

use constant PAGE => 25;

# Settings of hypnotoad, if any, are in the file that MOJO_CONFIG names.
plugin Config => {default => {}};
app->secrets([$ENV{SECRET}]);

# A connection for each process: a fork must not share one.
helper database => sub {
    state %open;
    $open{$$} //= do {
        my $database = DBI->connect("dbi:SQLite:dbname=$ENV{DATABASE}", '', '', {RaiseError => 1, PrintError => 0, sqlite_unicode => 1});
        # Writes of the last second before a power failure may be lost, as with most sites.
        $database->do('PRAGMA synchronous = NORMAL');
        $database;
    };
};
helper rows => sub ($c, $sql, @values) { $c->database->selectall_arrayref($sql, {Slice => {}}, @values) };
helper entries => sub ($c, $page) {
    $c->rows(<<~'SQL', PAGE, PAGE * ($page - 1));
        SELECT id, title, written, (SELECT count(*) FROM remarks WHERE entry = entries.id) AS remarks
        FROM entries ORDER BY id DESC LIMIT ? OFFSET ?
        SQL
};

get '/' => sub ($c) {
    my $page = ($c->param('page') // '') =~ /^([1-9]\d{0,5})$/ ? $1 : 1;
    $c->render('list', entries => $c->entries($page), page => $page);
};

get '/entries.json' => sub ($c) { $c->render(json => $c->entries(1)) };

get '/entries/<id:num>' => sub ($c) {
    my $entry = $c->rows('SELECT id, title, body, written FROM entries WHERE id = ?', $c->param('id'))->[0]
        or return $c->render('missing', status => 404);
    my $remarks = $c->rows('SELECT author, body FROM remarks WHERE entry = ? ORDER BY id', $entry->{id});
    my $seen = $c->session('seen');
    $c->session(seen => $entry->{title});
    $c->render('entry', entry => $entry, remarks => $remarks, seen => $seen);
};

post '/entries' => sub ($c) {
    my $check = $c->validation->csrf_protect;
    return $c->render(text => 'Ask for the form anew.', status => 403) if $check->has_error('csrf_token');
    $check->required($_, 'trim') for qw(title body);
    return $c->render(text => 'A title and a text are needed.', status => 422) if $check->has_error;
    $c->database->do('INSERT INTO entries (title, body, written) VALUES (?, ?, ?)', undef, $check->param('title'), $check->param('body'),
        strftime('%Y-%m-%d', localtime));
    $c->flash(saved => $check->param('title'));
    # 303, so that a browser asks for the page with GET.
    $c->res->code(303);
    $c->redirect_to('/');
};

any '/*rest' => {rest => ''} => sub ($c) { $c->render('missing', status => 404) };

app->start;
