# Serow's bridge for Rack. It is read from standard input, which is the channel to Serow; src/words.rs says what is spoken.

require 'socket'
require 'stringio'

module Serow
  PACKET = 512 * 1024 # longer than any packet
  PIECE = 64 * 1024 # of a body: two fit into the socket's buffer
  SHAPES = 256 # sets of header names whose code is kept: clients could send any number of them
  FIXED = 13 # values before those of header fields

  # The process that loads the application and forks workers.
  class Mold
    def self.run
      control = Socket.for_fd($stdin.dup.tap { |copy| copy.autoclose = false }.fileno)
      settings = control.recv(PACKET).split("\0", -1).each_slice(2).to_h
      $stdin.reopen(File::NULL)
      $stdout.sync = $stderr.sync = true
      new(control, settings).run
    end

    def initialize(control, settings)
      @control = control
      @settings = settings
      @pids = []
    end

    def run
      title("#{@settings['name']}: mold")
      app = nil
      if @settings['preload'] == '1'
        begin
          app = Application.load(@settings['application'])
        rescue Exception => e # rubocop:disable Lint/RescueException -- a SyntaxError is one of them
          return @control.send("failed\0#{Serow.describe(e)}", 0)
        end
      end
      trap('CHLD') { reap }
      @control.send('ready', 0)
      while (order = receive)
        word, number, place = order[0].split("\0")
        start(app, number, place, order[1]) if word == 'fork'
        reap
      end
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
      pid = fork do
        trap('CHLD', 'DEFAULT')
        @control.close
        title("#{@settings['name']}: worker #{place}")
        Worker.run(app, @settings, sockets)
      end
      @pids << pid
      @control.send("forked\0#{number}\0#{pid}", 0)
    rescue SystemCallError, NotImplementedError => e
      @control.send("unforked\0#{number}\0#{e.message}", 0)
    ensure
      sockets.each(&:close)
    end

    # Only for our own: the application may wait for children of its own.
    def reap
      @pids.reject! do |pid|
        next unless Process.wait2(pid, Process::WNOHANG)

        status = $?
        how = status.signaled? ? "killed by signal #{status.termsig}" : "exit status #{status.exitstatus}"
        @control.send("exited\0#{pid}\0#{how}", 0)
        true
      rescue Errno::ECHILD
        true
      end
    rescue SystemCallError
      nil
    end

    def title(text)
      Process.setproctitle("serow #{text}")
    end
  end

  # What was written by others.
  module Application
    def self.load(path)
      require 'rack'
      require 'rack/builder'
      app, = *Rack::Builder.parse_file(path)
      app
    end
  end

  # Answers requests, one after the other.
  class Worker
    def self.run(app, settings, sockets)
      requests, output, *replies = sockets
      $stdout.reopen(output)
      $stderr.reopen(output)
      output.close
      begin
        app ||= Application.load(settings['application'])
      rescue Exception => e # rubocop:disable Lint/RescueException -- a SyntaxError is one of them
        requests.send("failed\0#{Serow.describe(e)}", 0)
        exit!(1)
      end
      requests.send('ready', 0)
      new(app, settings, requests, replies).serve
    end

    def initialize(app, settings, requests, replies)
      @app = app
      @requests = requests
      @replies = replies
      @threaded = settings['concurrency'].to_i > 1
      @shapes = {}
      @empty = Worker.input(+'')
    end

    def serve
      packet = String.new(capacity: PIECE)
      while @requests.recv(PACKET, 0, packet) && !packet.empty?
        case packet.getbyte(0)
        when 114 then answer(packet.split("\0", -1), @empty) # r
        when 98 then with_body(packet) { |rest| Worker.input(rest) } # b
        when 102 then with_body(packet) { |rest| Worker.file(rest) } # f
        end
      end
    end

    def self.input(text)
      StringIO.new(text.force_encoding(Encoding::BINARY)).tap(&:binmode)
    end

    def self.file(path)
      file = File.open(path, 'rb')
      File.unlink(path)
      file
    end

    private

    def with_body(packet)
      head = packet.byteslice(10, 8).to_i
      values = packet.byteslice(18, head).split("\0", -1)
      values[0] = packet.byteslice(0, 10)
      input = yield packet.byteslice(18 + head, packet.bytesize)
      answer(values, input)
      input.close
    end

    def answer(values, input)
      ticket = values[0]
      env = (@shapes[values[1]] || shape(values[1])).call(values, input)
      status, headers, body = @app.call(env)
      respond(ticket, env, status, headers, body)
    rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, the client is told
      fail_with(ticket, e)
    end

    def respond(ticket, env, status, headers, body)
      head = "#{ticket}\0#{status}".b
      headers.each do |name, value|
        if value.is_a?(String)
          head << "\0" << name << "\0" << value
        elsif value.is_a?(Array)
          value.each { |one| head << "\0" << name << "\0" << one }
        elsif !name.start_with?('rack.')
          head << "\0" << name << "\0" << value.to_s
        end
      end
      head << "\0\0"
      reply = @replies[ticket.getbyte(1) - 33]
      after = !env['rack.after_reply'].empty? || !env['rack.response_finished'].empty?
      send_body(reply, ticket, head, body, after)
      return unless after

      finish(env, status, headers)
      reply.send("D#{ticket}", 0)
    end

    def send_body(reply, ticket, head, body, after)
      if body.respond_to?(:to_path)
        path = File.expand_path(body.to_path)
        body.close if body.respond_to?(:close)
        return reply.send("#{after ? 'f' : 'F'}#{head}#{path}", 0)
      end
      pieces = body.is_a?(Array) ? body : (body.to_ary if body.respond_to?(:to_ary))
      if pieces
        body.close if !body.is_a?(Array) && body.respond_to?(:close)
        whole = pieces.size == 1 ? pieces[0] : pieces.join
        return reply.send("#{after ? 'r' : 'R'}".b << head << whole.b, 0) if head.bytesize + whole.bytesize <= PIECE

        head[-2, 2] = "\0content-length\0#{whole.bytesize}\0\0" unless head.match?(/\0content-length\0/i)
        reply.send("H#{head}", 0)
        send_piece(reply, ticket, whole)
      else
        reply.send("H#{head}", 0)
        stream(reply, ticket, body)
      end
      reply.send("#{after ? 'e' : 'E'}#{ticket}", 0)
    end

    def stream(reply, ticket, body)
      body.each { |piece| send_piece(reply, ticket, piece) unless piece.empty? }
    ensure
      body.close if body.respond_to?(:close)
    end

    def send_piece(reply, ticket, piece)
      begin_with = "B#{ticket}"
      offset = 0
      while offset < piece.bytesize
        reply.send(begin_with.b << piece.byteslice(offset, PIECE).b, 0)
        offset += PIECE
      end
    end

    def finish(env, status, headers)
      env['rack.after_reply'].each(&:call)
      env['rack.response_finished'].reverse_each { |callback| callback.call(env, status, headers, nil) }
    rescue StandardError => e
      warn Serow.describe(e)
    end

    def fail_with(ticket, error)
      text = Serow.describe(error)
      warn text
      @replies[ticket.getbyte(1) - 33].send("X#{ticket}#{text}".b.byteslice(0, PIECE), 0)
      raise error unless error.is_a?(StandardError) || error.is_a?(ScriptError)
    end

    # The block that makes the environment of requests with these names.
    def shape(names)
      @shapes.clear if @shapes.size >= SHAPES
      @shapes[names.dup.freeze] = compile(names.split(','))
    end

    def compile(names)
      fields = names.each_with_index.map { |name, place| "#{name.dump} => v[#{FIXED + place}]" }
      eval(<<~RUBY, binding, 'serow.rb', __LINE__ + 1) # rubocop:disable Security/Eval -- names are tokens, and dumped
        lambda do |v, input|
          env = {
            'REQUEST_METHOD' => v[2], 'SCRIPT_NAME' => '', 'PATH_INFO' => v[3], 'QUERY_STRING' => v[4],
            'SERVER_PROTOCOL' => v[5], 'HTTP_VERSION' => v[5], 'rack.url_scheme' => v[6], 'SERVER_NAME' => v[7],
            'SERVER_PORT' => v[8], 'REMOTE_ADDR' => v[9], 'REMOTE_PORT' => v[10], 'REQUEST_URI' => v[11],
            'REQUEST_PATH' => v[3], 'SERVER_SOFTWARE' => 'serow', 'rack.version' => [1, 6], 'rack.input' => input,
            'rack.errors' => $stderr, 'rack.multithread' => #{@threaded}, 'rack.multiprocess' => true,
            'rack.run_once' => false, 'rack.hijack?' => false, 'rack.after_reply' => [], 'rack.response_finished' => [],
            #{fields.join(', ')}
          }
          env['CONTENT_LENGTH'] = v[12] unless v[12].empty?
          env
        end
      RUBY
    end
  end

  # What is said of a failure: as Ruby itself would print it.
  def self.describe(error)
    error.full_message(highlight: false, order: :top)
  end
end

Serow::Mold.run
