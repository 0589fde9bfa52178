# Notes with a session, an upload, a stream, a download and an error; as Sinatra's README has them.
require "sinatra/base"
require "digest"
require "json"

class Notes < Sinatra::Base
  enable :sessions
  set :session_secret, "of the gallery" * 10
  set :show_exceptions, false
  set :raise_errors, false
  # Rack::Protection compares the host of a form's page.
  set :protection, except: :session_hijacking
  FILE = File.expand_path("film.bin", __dir__)
  File.binwrite(FILE, "0123456789abcdef" * 65536 * 20) unless File.exist?(FILE)

  get("/") { "<h1>Notes of #{session[:user] || 'nobody'}</h1><a href=\"#{url('/')}\">Here</a>" }
  post("/login") do
    halt 403, "wrong" if params[:password] != "secret"
    session[:user] = params[:user]
    redirect to("/")
  end
  post("/logout") { session.clear; redirect to("/") }
  post("/upload") do
    content = params[:file][:tempfile].read
    content_type :json
    {length: content.bytesize, digest: Digest::SHA256.hexdigest(content), name: params[:file][:filename]}.to_json
  end
  get("/page/:name") { content_type :json; {name: params[:name]}.to_json }
  get("/download") { send_file FILE }
  get("/streamed") { stream { |out| 500.times { |number| out << format("%04d\n", number) * 200 } } }
  get("/tagged") { etag "one"; cache_control :public, max_age: 60; "tagged" }
  get("/dies") { raise "as meant" }
  error { status 500; "sorry" }
end

run Notes
