# frozen_string_literal: true

require 'serow/program'

module Serow
  # rackup -s serow: hands over to the program `serow`, with the options of Rhebok.
  module Handler
    # Rhebok's options, and Serow's words for them.
    WORDS = {
      'MaxWorkers' => 'processes', 'MaxRequestPerChild' => 'max-requests', 'MinRequestPerChild' => 'min-requests',
      'Timeout' => 'app-timeout', 'SpawnInterval' => 'spawn-interval', 'BackLog' => 'backlog', 'ReusePort' => 'reuse-port',
      'Threads' => 'threads', 'Preload' => 'preload', 'MaxGCPerRequest' => 'out-of-band-gc'
    }.freeze
    SECONDS = %w[app-timeout spawn-interval].freeze
    SWITCHES = %w[reuse-port preload].freeze
    # Rhebok's defaults, where they are others than Serow's.
    DEFAULTS = { 'processes' => '5', 'app-timeout' => '300s', 'max-requests' => '1000', 'out-of-band-gc' => '5' }.freeze
    # Options that are ignored: rackup itself adds them, or Serow does them by itself.
    PASSED_OVER = %w[
      Host Port Path ConfigFile OobGC MinGCPerRequest Chunked_Transfer ChunkedTransfer ErrRespawnInterval
      environment pid config AccessLog daemonize warn debug quiet server profile_file profile_mode heapfile require include
    ].freeze

    # The settings in a file for Rhebok (-O ConfigFile=…).
    class ConfigFile
      NAMES = {
        'host' => 'Host', 'port' => 'Port', 'path' => 'Path', 'backlog' => 'BackLog', 'reuseport' => 'ReusePort',
        'max_workers' => 'MaxWorkers', 'timeout' => 'Timeout', 'max_request_per_child' => 'MaxRequestPerChild',
        'min_request_per_child' => 'MinRequestPerChild', 'spawn_interval' => 'SpawnInterval', 'oobgc' => 'OobGC',
        'max_gc_per_request' => 'MaxGCPerRequest', 'min_gc_per_request' => 'MinGCPerRequest',
        'chunked_transfer' => 'ChunkedTransfer', 'err_respawn_interval' => 'ErrRespawnInterval'
      }.freeze

      attr_reader :options

      def initialize(path)
        @options = {}
        instance_eval(File.read(path), path)
      end

      NAMES.each do |name, option|
        # Some of Rhebok's take a block.
        define_method(name) { |value = nil, &block| @options[option] = block ? block.call : value }
      end

      def before_fork
        abort 'rackup -s serow: before_fork runs in no process of the application here: do it while the application is loaded'
      end

      def after_fork
        abort 'rackup -s serow: after_fork belongs into config/serow.rb of the application; see the documentation of Serow'
      end
    end

    def self.run(_app, options = {})
      command = self.command(options.transform_keys(&:to_s))
      exec(*command, close_others: false)
    rescue Errno::ENOENT
      abort "rackup -s serow: #{Program.advice}"
    end

    def self.valid_options
      {
        'MaxWorkers=NUM' => 'Worker processes (default: 5)',
        'MaxRequestPerChild=NUM' => 'Replace a worker after so many requests (default: 1000, 0: never)',
        'MinRequestPerChild=NUM' => 'after a random number between this and MaxRequestPerChild',
        'Timeout=SECONDS' => 'How long a request may take (default: 300)',
        'SpawnInterval=SECONDS' => "The time between two workers' starts",
        'OobGC=BOOL' => 'Collect garbage while a worker is idle (default: false)',
        'MaxGCPerRequest=NUM' => 'after so many requests (default: 5)',
        'Path=PATH' => 'Listen at a unix socket',
        'ConfigFile=FILE' => "Rhebok's file of settings"
      }
    end

    # The command line of Serow that does the same.
    def self.command(options)
      options = options.merge(ConfigFile.new(options['ConfigFile']).options) if options['ConfigFile']
      chosen = DEFAULTS.merge(translated(options))
      chosen.delete('max-requests') if chosen['max-requests'].to_s == '0'
      chosen.delete('min-requests') unless chosen['max-requests']
      chosen.delete('out-of-band-gc') unless true?(options['OobGC'])
      words = [Program.path, 'app', options['config'] || 'config.ru', '--interface', 'rack']
      chosen.sort.each do |word, value|
        if SWITCHES.include?(word)
          words << "--#{word}" if true?(value)
        else
          words << "--#{word}" << value.to_s
        end
      end
      words + listener(options)
    end

    def self.true?(value)
      %w[true yes 1].include?(value.to_s)
    end
    private_class_method :true?

    def self.translated(options)
      options.each_with_object({}) do |(name, value), chosen|
        word = WORDS[name]
        if word
          chosen[word] = SECONDS.include?(word) && value.to_s.match?(/\A[0-9.]+\z/) ? "#{value}s" : value unless value.nil?
        elsif !PASSED_OVER.include?(name)
          abort "rackup -s serow knows no option #{name}: leave it out, or see serow app --help"
        end
      end
    end
    private_class_method :translated

    # A supervisor's sockets are found by Serow itself.
    def self.listener(options)
      return [] if ENV['SERVER_STARTER_PORT'] || ENV['LISTEN_FDS']
      return ['--listen', "unix:#{File.expand_path(options['Path'])}"] if options['Path']

      host = options['Host'].to_s
      host = { '0.0.0.0' => '', 'localhost' => '127.0.0.1' }.fetch(host, host)
      ['--listen', "#{host}:#{options['Port'] || 9292}"]
    end
    private_class_method :listener
  end
end
