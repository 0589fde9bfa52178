# frozen_string_literal: true

# packages/build writes the gem for a platform, with its program in libexec, and the version of the workspace.
workspace = File.expand_path('../../Cargo.toml', __dir__)
platform = ENV.fetch('SEROW_GEM_PLATFORM', 'ruby')

Gem::Specification.new do |gem|
  gem.name = 'serow'
  gem.version = ENV.fetch('SEROW_GEM_VERSION') { File.read(workspace)[/^version = "(.+)"$/, 1].tr('-', '.') }
  gem.platform = platform
  gem.summary = 'Web server for files, proxying and applications: HTTP/1.1, HTTP/2, HTTP/3'
  gem.description = 'Serow serves files, proxies and balances requests, and runs Rack applications in worker ' \
                    'processes: serow app config.ru. rackup -s serow accepts the options of Rhebok.'
  gem.authors = ['The Serow developers']
  gem.homepage = 'https://serow.example'
  gem.licenses = ['MIT', 'Apache-2.0']
  gem.required_ruby_version = '>= 2.7'
  gem.files = Dir.chdir(__dir__) { Dir['lib/**/*.rb', 'exe/*', 'libexec/*', 'README.md', 'LICENSE*'] }
  gem.metadata = { 'rubygems_mfa_required' => 'true' }
  if platform == 'ruby'
    gem.post_install_message = <<~MESSAGE
      This gem of Serow contains no program for #{RUBY_PLATFORM}. rackup -s serow runs the program in the PATH or in
      $SEROW; install it in another way, for example with: cargo install serow-cli
    MESSAGE
  else
    gem.bindir = 'exe'
    gem.executables = ['serow']
  end
end
