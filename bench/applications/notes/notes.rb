# Notes with comments: a site in Sinatra on SQLite. DATABASE is its file, SECRET what its sessions are signed with.
require "date"
require "json"
require "rack/protection"
require "sinatra/base"
require "sqlite3"

class Notes < Sinatra::Base
  PAGE = 25

  enable :sessions
  set :session_secret, ENV.fetch("SECRET")
  set :views, File.join(__dir__, "views")
  use Rack::Protection::AuthenticityToken

  helpers do
    def h(text) = Rack::Utils.escape_html(text)

    def token = Rack::Protection::AuthenticityToken.token(session)

    # A connection for each thread. Writes of the last second before a power failure may be lost, as with most sites.
    def database
      Thread.current[:notes_database] ||= SQLite3::Database.new(ENV.fetch("DATABASE"), results_as_hash: true).tap do |database|
        database.busy_timeout = 5000
        database.execute("PRAGMA synchronous = NORMAL")
      end
    end

    def note(id) = database.get_first_row("SELECT id, title, body, written FROM notes WHERE id = ?", id) || halt(404, erb(:missing))

    def notes(page)
      database.execute(<<~SQL, [PAGE, PAGE * (page - 1)])
        SELECT id, title, written, (SELECT count(*) FROM comments WHERE note = notes.id) AS comments
        FROM notes ORDER BY id DESC LIMIT ? OFFSET ?
      SQL
    end
  end

  before { @seen = session[:seen] }

  get "/" do
    @page = [params["page"].to_i, 1].max
    @notes = notes(@page)
    @saved = session.delete(:saved)
    erb :list
  end

  get "/notes.json" do
    content_type :json
    JSON.generate(notes(1))
  end

  get "/notes/:id" do
    @note = note(params["id"].to_i)
    @comments = database.execute("SELECT author, body FROM comments WHERE note = ? ORDER BY id", @note["id"])
    session[:seen] = @note["title"]
    erb :note
  end

  post "/notes" do
    title, body = params["title"].to_s.strip, params["body"].to_s.strip
    halt 422, erb(:missing) if title.empty? || body.empty?
    database.execute("INSERT INTO notes (title, body, written) VALUES (?, ?, ?)", [title, body, Date.today.iso8601])
    session[:saved] = title
    redirect to("/")
  end

  not_found { erb :missing }
end
