#!/usr/bin/env perl
# Notes with a session in a file, an upload, JSON, a file and an error; as Dancer2's manual has them.
package Notes;
use Dancer2;
use Digest::SHA 'sha256_hex';
use Encode 'decode_utf8';

set session => 'YAML';
set charset => 'UTF-8';
set engines => {session => {YAML => {session_dir => 'sessions'}}};

get '/' => sub { my $user = session('user') // 'nobody'; my $link = uri_for('/'); "<h1>Notes of $user</h1><a href=\"$link\">Here</a>" };

post '/login' => sub {
    if (body_parameters->get('password') ne 'secret') { send_error('wrong', 403) }
    session user => body_parameters->get('user');
    redirect uri_for('/');
};

post '/logout' => sub { app->destroy_session; redirect uri_for('/') };

post '/upload' => sub {
    my $content = upload('file')->content;
    content_type 'application/json';
    encode_json({length => length $content, digest => sha256_hex($content), name => upload('file')->filename});
};

get '/page/:name' => sub { content_type 'application/json'; encode_json({name => route_parameters->get('name')}) };

get '/file' => sub { send_file(\('0123456789' x 500_000), content_type => 'application/octet-stream') };

get '/streamed' => sub {
    delayed { flush; content sprintf('%04d ', $_) x 200 for 1 .. 500; done; };
};

get '/dies' => sub { die "as meant\n" };

start;
