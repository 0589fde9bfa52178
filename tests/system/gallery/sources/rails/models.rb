class Note < ActiveRecord::Base
  has_one_attached :film
  validates :title, presence: true
  after_create_commit { ActionCable.server.broadcast("notes", {id: id, author: author, title: title}) }
end
