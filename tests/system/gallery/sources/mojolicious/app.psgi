#!/usr/bin/env perl
# Notes with a session, an upload, a stream and a large download; as Mojolicious::Lite's tutorial has them.
use Mojolicious::Lite -signatures;
use Digest::SHA 'sha256_hex';
use Mojo::JSON 'true';

app->secrets(['of the gallery']);
# Beyond its default of 16 MiB.
app->max_request_size(64 * 1024 * 1024);

get '/' => sub ($c) { $c->render(template => 'index') } => 'index';

post '/login' => sub ($c) {
    return $c->render(text => 'wrong', status => 403) if $c->param('password') ne 'secret';
    $c->session(user => $c->param('user'));
    $c->flash(message => 'logged in');
    $c->redirect_to('index');
};

post '/logout' => sub ($c) { $c->session(expires => 1); $c->redirect_to('index') };

post '/upload' => sub ($c) {
    my $content = $c->param('file')->slurp;
    $c->render(json => {length => length $content, digest => sha256_hex($content), name => $c->param('file')->filename});
};

get '/chunks' => sub ($c) {
    my $number = 0;
    my $send;
    $send = sub ($c, @) { $number < 500 ? $c->write_chunk(sprintf("%04d\n", $number++) x 200, $send) : $c->finish };
    $c->$send;
};

get '/page/:name' => sub ($c) { $c->render(json => {name => $c->param('name'), url => $c->url_for('index')->to_abs}) };

get '/dies' => sub ($c) { die "as meant\n" };

app->start;

__DATA__

@@ index.html.ep
<!DOCTYPE html><title>Notes</title><h1>Notes of <%= session('user') // 'nobody' %></h1><p><%= flash 'message' %></p>
<%= form_for login => begin %><%= text_field 'user' %><%= password_field 'password' %><% end %>
<p><%= link_to Here => 'index' %></p>
