# Makes the database of the notes, in the file that DATABASE names.
require "sqlite3"

NOTES = 400
COMMENTS = 3
WORDS = %w[rain letter harbour winter bread garden road lamp river window paper stone market bridge evening apple].freeze

def words(seed, count) = Array.new(count) { |index| WORDS[(seed * 7 + index * (seed % 5 + 3)) % WORDS.size] }.join(" ")

database = SQLite3::Database.new(ENV.fetch("DATABASE"))
# Readers do not wait for whoever writes.
database.execute("PRAGMA journal_mode = WAL")
database.execute_batch(<<~SQL)
  CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, written TEXT NOT NULL);
  CREATE TABLE comments (id INTEGER PRIMARY KEY, note INTEGER NOT NULL REFERENCES notes, author TEXT NOT NULL, body TEXT NOT NULL);
  CREATE INDEX comments_note ON comments (note);
SQL
database.transaction do
  (1..NOTES).each do |number|
    database.execute("INSERT INTO notes (title, body, written) VALUES (?, ?, ?)",
                     ["#{words(number, 3)} & <#{number}>", words(number, 80), format("2020-%02d-%02d", number % 12 + 1, number % 28 + 1)])
    COMMENTS.times do |index|
      database.execute("INSERT INTO comments (note, author, body) VALUES (?, ?, ?)", [number, words(index, 1), words(number + index, 12)])
    end
  end
end
