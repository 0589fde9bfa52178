# frozen_string_literal: true

module Serow
  # The program serow. The gems for Linux on x86_64 and aarch64 contain it; the gem for other platforms does not.
  module Program
    module_function

    # The program for the handlers of rackup: $SEROW, that of this gem, or one in the PATH.
    def path
      named = ENV.fetch('SEROW', '')
      return named unless named.empty?

      own || 'serow'
    end

    # The path of the program in this gem, if it contains one.
    def own
      path = File.expand_path('../../libexec/serow', __dir__)
      path if File.file?(path)
    end

    # Advice for a user whose program does not exist.
    def advice
      return "the program #{ENV['SEROW']} does not exist: correct $SEROW" if ENV['SEROW'] == path

      "this gem contains no program for #{RUBY_PLATFORM}: install Serow in another way, for example with " \
        'cargo install serow-cli, so that it is in the PATH, or name the program in $SEROW'
    end
  end
end
