require_relative "application"

run Notes::Application
