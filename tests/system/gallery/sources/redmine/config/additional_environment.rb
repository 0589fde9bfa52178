config.logger = ActiveSupport::Logger.new($stderr)
config.log_level = :warn
