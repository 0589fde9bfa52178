# frozen_string_literal: true

require 'rackup/handler'
require 'serow/handler'

# For Rack 3, whose rackup is a gem of its own.
Rackup::Handler.register(:serow, Serow::Handler)
