# frozen_string_literal: true

require 'rack/handler'
require 'serow/handler'

# For Rack 2.
Rack::Handler.register('serow', 'Serow::Handler')
