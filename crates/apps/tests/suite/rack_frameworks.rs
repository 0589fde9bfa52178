//! Frameworks of Ruby, as Debian has them, run unchanged.

use crate::support::{Running, content, settings};
use serow_apps::{Interface, Interpreter};
use serow_requirements::requires;

#[test]
fn sinatra_answers() {
    requires!("ruby:sinatra/base");
    let running = Running::new(settings(
        Interface::Rack,
        "config.ru",
        r##"
require 'rack/lint'
require 'sinatra/base'
class Site < Sinatra::Base
  get('/hello/:name') { |name| "Hello #{name}" }
  post('/form') { params['who'] + ' ' + request.cookies['flavour'].to_s }
  get('/stream') { stream { |out| 3.times { |number| out << "#{number} " } } }
  get('/file') { send_file 'config.ru', type: :txt }
  get('/failing') { raise 'no' }
  get('/environment') { settings.environment.to_s }
  error { 'sorry' }
end
use Rack::Lint
run Site
"##,
    ));
    assert_eq!(content(&running.get("/hello/J%C3%BCrgen%20X")), "Hello Jürgen X");
    let form = "POST /form HTTP/1.1\r\nHost: a\r\nCookie: flavour=dark\r\nConnection: close\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nwho=a+%26";
    assert_eq!(content(&running.exchange(form)), "a & dark");
    assert_eq!(content(&running.get("/stream")), "0 1 2 ");
    assert!(content(&running.get("/file")).contains("class Site"));
    assert_eq!(content(&running.get("/environment")), "production");
    let failing = running.get("/failing");
    assert!(failing.starts_with("HTTP/1.1 500 ") && content(&failing) == "sorry", "{failing}");
    assert!(running.get("/missing").starts_with("HTTP/1.1 404 "));
}

#[test]
fn rails_answers() {
    requires!("ruby:action_controller/railtie");
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", RAILS);
    settings.preload = true;
    settings.run.environment.push(("RAILS_ENV".into(), "production".into()));
    let running = Running::new((settings, folder));
    assert_eq!(content(&running.get("/hello/%3Cb%3E")), "<p>&lt;b&gt;</p>");
    let part = "--x\r\nContent-Disposition: form-data; name=\"upload\"; filename=\"a\"\r\n\r\n";
    let upload = [part, &"u".repeat(200_000), "\r\n--x--\r\n"].concat();
    let head = format!(
        "POST /form HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=x\r\n\
         Content-Length: {}\r\n\r\n",
        upload.len()
    );
    assert_eq!(content(&running.exchange(head + &upload)), "200000");
    let first = running.get("/session");
    assert_eq!(content(&first), "1");
    let cookie = first
        .lines()
        .find_map(|line| line.to_lowercase().starts_with("set-cookie: ").then(|| line[12..].split(';').next()));
    let request = format!(
        "GET /session HTTP/1.1\r\nHost: localhost\r\nCookie: {}\r\nConnection: close\r\n\r\n",
        cookie.flatten().unwrap()
    );
    assert_eq!(content(&running.exchange(request)), "2");
    assert_eq!(content(&running.get("/live")), "0 1 2 ");
    assert!(content(&running.get("/file")).contains("class Site"));
    assert!(running.get("/missing").starts_with("HTTP/1.1 404 "));
    // Rack::ETag makes arrays of other bodies only.
    let cases = [("go", 302), ("gone", 404), ("invalid", 422), ("empty", 204), ("fresh", 200), ("stale", 200)];
    for (path, status) in cases {
        let answer = running.get(&format!("/status/{path}"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {answer}");
    }
    assert!(running.get("/status/go").to_lowercase().contains("\r\nlocation: http://localhost/status/fresh\r\n"));
    assert_eq!(content(&running.get("/status/invalid")), "no");
    let since = "If-Modified-Since: Sun, 09 Sep 2001 01:46:40 GMT";
    let request = format!("GET /status/fresh HTTP/1.1\r\nHost: a\r\n{since}\r\nConnection: close\r\n\r\n");
    assert!(running.exchange(request).starts_with("HTTP/1.1 304 "));
}

#[test]
fn bundled_applications_run_with_fork_hooks() {
    requires!("program:bundle", "ruby:rack");
    let (mut settings, folder) = settings(
        Interface::Rack,
        "config.ru",
        "run ->(env) { [200, {}, [[Object.const_defined?(:Bundler), $before, $after].inspect]] }",
    );
    std::fs::write(folder.path().join("Gemfile"), "gem 'rack'\n").unwrap();
    std::fs::create_dir(folder.path().join("config")).unwrap();
    let hooks = "Serow.before_fork { $before = 1 }\nafter_fork { |server, worker| $after = worker.nr }\n";
    std::fs::write(folder.path().join("config/serow.rb"), hooks).unwrap();
    settings.program.interpreter = Interpreter::of(Interface::Rack, folder.path());
    settings.run.processes = std::num::NonZero::<usize>::MIN;
    let running = Running::new((settings, folder));
    assert_eq!(content(&running.get("/")), "[true, 1, 0]");
}

/// A whole application of Rails in one file.
const RAILS: &str = r##"
require 'action_controller/railtie'
class Site < Rails::Application
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = 'x' * 40
  config.hosts.clear
  config.logger = Logger.new(IO::NULL)
  routes.append do
    get '/hello/:name', to: 'pages#hello'
    post '/form', to: 'pages#form'
    get '/session', to: 'pages#counted'
    get '/live', to: 'live#numbers'
    get '/file', to: 'pages#file'
    get '/status/:action', controller: 'statuses'
  end
end
class StatusesController < ActionController::Base
  def go = redirect_to('/status/fresh')
  def gone = head(404)
  def invalid = render(plain: 'no', status: 422)
  def empty = head(:no_content)
  def fresh = (render(plain: 'fresh') if stale?(last_modified: Time.at(1_000_000_000)))
  def stale = (response.headers['Cache-Control'] = 'no-store'; render(plain: 'x'))
end
class PagesController < ActionController::Base
  def hello = render(inline: '<p><%= params[:name] %></p>')
  def form = render(plain: params[:upload].read.bytesize)
  def counted = render(plain: session[:count] = session[:count].to_i + 1)
  def file = send_file('config.ru', type: 'text/plain')
end
class LiveController < ActionController::Base
  include ActionController::Live
  def numbers
    3.times { |number| response.stream.write("#{number} ") }
  ensure
    response.stream.close
  end
end
Site.initialize!
run Site
"##;
