module ApplicationCable
  class Connection < ActionCable::Connection::Base
    identified_by :user

    def connect
      self.user = request.session[:user] || cookies.encrypted["_session"]&.fetch("user", nil) || reject_unauthorized_connection
    end
  end

  class Channel < ActionCable::Channel::Base
  end
end

class NotesChannel < ApplicationCable::Channel
  def subscribed = stream_from("notes")

  # A person says something to all others.
  def say(data) = ActionCable.server.broadcast("notes", {said: data["words"], by: user, process: Process.pid})
end
