require_relative "notes"

run Notes
