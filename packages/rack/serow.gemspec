# frozen_string_literal: true

Gem::Specification.new do |gem|
  gem.name = 'serow'
  gem.version = '0.1.0'
  gem.summary = 'rackup -s serow: run a Rack application with Serow'
  gem.description = 'Hands over to the program serow, with the options of Rhebok.'
  gem.authors = ['The Serow developers']
  gem.license = 'MIT'
  gem.required_ruby_version = '>= 2.7'
  gem.files = Dir['lib/**/*.rb']
  gem.add_dependency 'rack', '>= 2'
end
