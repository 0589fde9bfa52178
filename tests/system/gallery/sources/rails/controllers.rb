class ApplicationController < ActionController::Base
  protect_from_forgery with: :exception
end

class SessionsController < ApplicationController
  def create
    return render(plain: "wrong", status: 403) if params[:password] != "secret"

    session[:user] = params[:user]
    redirect_to root_path
  end

  def destroy
    reset_session
    redirect_to root_path
  end
end

class NotesController < ApplicationController
  # A script that every site may embed.
  skip_after_action :verify_same_origin_request, only: :client
  before_action(except: %i[index client]) { head :unauthorized unless session[:user] }
  rescue_from(ActiveRecord::StaleObjectError) { render plain: "edited meanwhile", status: 409 }

  def index
    @notes = Note.order(:id)
    @notes = @notes.where("title LIKE ?", "%#{Note.sanitize_sql_like(params[:q])}%") if params[:q]
    render template: "index"
  end

  def create
    note = Note.new(params.permit(:title, :text, :film).merge(author: session[:user]))
    note.save ? redirect_to(note_path(note)) : render(plain: note.errors.full_messages.join, status: 422)
  end

  def show
    note = Note.find(params[:id])
    film = note.film.attached? ? {path: film_note_path(note), bytes: note.film.byte_size, checksum: note.film.checksum} : nil
    render json: note.slice(:title, :text, :author, :lock_version).merge(film: film)
  end

  # As the form was loaded: a newer version is a conflict.
  def update
    Note.find(params[:id]).update!(params.permit(:text, :lock_version))
    head :no_content
  end

  def film = redirect_to(rails_blob_path(Note.find(params[:id]).film, disposition: "attachment"))
  def dies = raise("as meant")
  def client = send_file(ActionCable::Engine.root.join("app/assets/javascripts/action_cable.js"), disposition: "inline", type: "text/javascript")
end

class StreamsController < ApplicationController
  include ActionController::Live

  def events
    response.headers["Content-Type"] = "text/event-stream"
    # Rack::ETag of Rack 2.2 otherwise waits for the end.
    response.headers["Last-Modified"] = Time.now.httpdate
    stream = ActionController::Live::SSE.new(response.stream, event: "count")
    params[:count].to_i.times { |number| stream.write({number: number, padding: "x" * 1000}) }
  ensure
    stream&.close
  end
end
