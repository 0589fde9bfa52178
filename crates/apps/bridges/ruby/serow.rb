# frozen_string_literal: true

# Serow's bridge for Rack. It is read from standard input, which is the channel to Serow; src/messages.rs describes the
# protocol. The files beside this one follow it; start.rb is the last.

require 'io/wait'
require 'socket'
require 'stringio'

module Serow
  PACKET = 512 * 1024 # longer than any packet
  PIECE = 64 * 1024 # of a body: two fit into the socket's buffer

  # The text of an exception, as Ruby prints it.
  def self.describe(error)
    error.full_message(highlight: false, order: :top)
  end

  # Sends output there from now on, line by line: reopen would also take over the buffering of `output`. Not $stdout and
  # $stderr, which the application may have replaced by files of its own.
  def self.write_to(output)
    [STDOUT, STDERR].each do |stream|
      stream.reopen(output)
      stream.sync = true
    end
    output.close
  end

  # The application.
  module Application
    def self.load(path)
      require 'rack'
      require 'uri' # Rack::Lint has it from other servers
      require 'rack/builder'
      # Rack 2: a value of several lines is as many fields.
      Serow.const_set(:REFUSES_LINES, Rack.release >= '3')
      loaded = Rack::Builder.parse_file(path)
      loaded.is_a?(Array) ? loaded.first : loaded # Rack 2 gives options as well
    end
  end

  # The process that loads the application and forks workers.
  class TemplateProcess
    def self.run
      control = Socket.for_fd($stdin.dup.tap { |copy| copy.autoclose = false }.fileno)
      settings = control.recv(PACKET).split("\0", -1).each_slice(2).to_h
      # By default, Sinatra and Rails show exceptions to everybody.
      ENV['RACK_ENV'] ||= settings['development'] == '1' ? 'development' : 'production'
      $stdin.reopen(File::NULL)
      STDOUT.sync = STDERR.sync = true
      new(control, settings).run
    end

    # In a process that a worker has forked: workers that are forked from it share what the worker has warmed up.
    def self.succeed(app, control, settings)
      template = new(control, settings)
      template.title("#{settings['name']}: template")
      template.serve(app)
    ensure
      exit!(0)
    end

    def initialize(control, settings)
      @control = control
      @settings = settings
      @pids = []
    end

    def run
      title("#{@settings['name']}: template")
      app = nil
      begin
        Serow.load_hooks
        app = Application.load(@settings['application']) if @settings['preload'] == '1'
      rescue Exception => e # rubocop:disable Lint/RescueException -- a SyntaxError is one of them
        return @control.send("failed\0#{Serow.describe(e)}", 0)
      end
      serve(app)
    end

    # Forks workers until Serow hangs up.
    def serve(app)
      # Runs the collector on the loaded application before it is shared.
      Process.respond_to?(:warmup) ? Process.warmup : GC.start
      trap('CHLD') { reap }
      @control.send("ready\0#{Process.pid}", 0)
      while (order = receive)
        command, number, place = order[0].split("\0")
        start(app, number, place, order[1]) if command == 'fork'
        Serow.write_to(order[1][0]) if command == 'output'
        reap
      end
    end

    def title(text)
      Process.setproctitle("serow #{text}")
    end

    private

    def receive
      text, _, _, *ancillary = @control.recvmsg(PACKET, 0, 64 * 1024, scm_rights: true)
      return if text.nil? || text.empty?

      [text, ancillary.flat_map { |data| data.unix_rights || [] }]
    rescue Errno::ECONNRESET
      nil
    end

    def start(app, number, place, sockets)
      Serow.run_hooks(:before_fork, place)
      pid = fork do
        trap('CHLD', 'DEFAULT')
        @control.close
        title("#{@settings['name']}: worker #{place}")
        Worker.run(app, @settings, place, sockets)
      end
      # First the report: a handler of SIGCHLD reports the end of every process in @pids, at any time from here on.
      @control.send("forked\0#{number}\0#{pid}", 0)
      @pids << pid
    rescue StandardError, NotImplementedError => e
      @control.send("unforked\0#{number}\0#{e.message} (#{e.class})", 0)
    ensure
      sockets.each(&:close)
    end

    # Called by the handler of SIGCHLD too, which may interrupt itself or the main loop here: then the interrupted call goes
    # through the processes again.
    def reap
      @reap_again = true
      while @reap_again && !@reaping
        @reaping = true
        reap_ended while @reap_again
        @reaping = false
      end
    end

    # Only for our own children: the application may wait for its own.
    def reap_ended
      @reap_again = false
      @pids.reject! do |pid|
        _, status = Process.wait2(pid, Process::WNOHANG)
        next unless status

        how = status.signaled? ? "killed by signal #{status.termsig}" : "exit status #{status.exitstatus}"
        @control.send("exited\0#{pid}\0#{how}", 0)
        true
      rescue Errno::ECHILD
        true
      end
    rescue SystemCallError
      nil
    end
  end
end
