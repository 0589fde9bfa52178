
module Serow
  # A process that answers requests, in one thread or several.
  class Worker
    TICKET = 10 # bytes

    attr_reader :app, :requests, :replies, :asking

    def self.run(app, settings, place, sockets)
      requests, output, *replies = sockets
      control = replies.shift if settings['refork'] == '1'
      Serow.write_to(output)
      begin
        Serow.run_hooks(:after_fork, place)
        app ||= Application.load(settings['application'])
      rescue Exception => e # rubocop:disable Lint/RescueException -- a SyntaxError is one of them
        requests.send("failed\0#{Serow.describe(e)}", 0)
        exit!(1)
      end
      # From Ruby 3.4 on, major collections run between requests; before, they are only made rare.
      GC.config(rgengc_allow_full_mark: false) if settings['collection'] == '1' && GC.respond_to?(:config)
      requests.send('ready', 0)
      new(app, settings, place, requests, control, replies).serve
    end

    def initialize(app, settings, place, requests, control, replies)
      @app = app
      @settings = settings
      @place = place
      @requests = requests
      @control = control
      @replies = replies
      @asking = Mutex.new
      @attendants = Array.new(settings['concurrency'].to_i.clamp(1, 1000)) { Attendant.new(self) }
    end

    def serve
      return @attendants[0].serve unless threaded?

      Thread.abort_on_exception = true
      @attendants.map { |attendant| Thread.new { attendant.serve } }.each(&:join)
    end

    def threaded?
      @attendants.size > 1
    end

    # Takes the message that a client is gone from the socket for requests; returns whether there was one. Another
    # thread may take it first, so that a request is next.
    def take_gone
      return note_gone(@requests.recv(TICKET)) if !threaded? && cancel?(@requests.recv(TICKET, Socket::MSG_PEEK))
      return false if !threaded? || @attendants.any?(&:idle?)

      packet = @requests.recv_nonblock(TICKET, Socket::MSG_PEEK, exception: false)
      return false unless packet.is_a?(String) && cancel?(packet)

      packet = @requests.recv_nonblock(PACKET, 0, exception: false)
      return note_gone(packet) if cancel?(packet)

      Thread.new { Attendant.new(self).take(packet) } if packet.is_a?(String)
      false
    end

    # Forks the next template process, as warm as this worker. As before every fork, the hooks close what must not be
    # shared.
    def refork
      Serow.run_hooks(:before_fork, @place)
      begin
        Process.detach(fork_template)
      ensure
        Serow.run_hooks(:after_fork, @place)
      end
    rescue StandardError, NotImplementedError => e
      warn Serow.describe(e)
    ensure
      @control.close
    end

    # Nobody waits for the response to the request of this packet.
    def note_gone(packet)
      @attendants.find { |attendant| attendant.answers?(packet) }&.note_gone
      true
    end

    private

    def fork_template
      fork do
        [@requests, *@replies].each(&:close)
        TemplateProcess.succeed(@app, @control, @settings)
      end
    end

    def cancel?(packet)
      packet.is_a?(String) && packet.getbyte(0) == 99
    end
  end

  # A request body in an unnamed file, which has no path.
  class Upload < File
    undef_method :path, :to_path

    def self.of(received)
      received.autoclose = false
      # A worker that crashed may have read some of it.
      for_fd(received.fileno, 'rb').tap(&:rewind)
    end
  end

  # A thread of a worker, which answers one request at a time.
  class Attendant
    TICKET = Worker::TICKET

    include Environment
    include Response
    include Hijack

    def initialize(worker)
      @worker = worker
      @app = worker.app
      @requests = worker.requests
      @replies = worker.replies
      @shapes = {}
      @seen = {}
      @formats = Hash.new { |formats, count| formats[count] = "a#{TICKET}x#{'Z*' * count}" }
      @empty = input(+'')
      @leaves_collections = GC.respond_to?(:config) && GC.config[:rgengc_allow_full_mark] == false
      @after_reply = []
      @finished = []
    end

    def serve
      packet = String.new(capacity: PIECE)
      while @requests.recv(PACKET, 0, packet) && !packet.empty?
        take(packet)
        @ticket = nil
        # Where Ruby leaves collections to us, memory grows until one has run, and the worker may not be idle for long.
        GC.start if @leaves_collections && GC.latest_gc_info(:need_major_by)
      end
    end

    def take(packet)
      case packet.getbyte(0)
      when 114 # r
        @empty = input(+'') if @empty.closed?
        answer(packet, packet.unpack(@formats[packet.getbyte(TICKET)]), @empty)
      when 98 then with_body(packet) { |rest| input(rest) } # b
      when 102 then with_body(packet) { file(packet.byteslice(0, TICKET)) } # f
      when 99 then @worker.note_gone(packet) # c
      when 103 then collect(packet) # g
      when 109 then @worker.refork # m
      end
    end

    def idle?
      @ticket.nil?
    end

    # Whether this thread works on the request of this packet.
    def answers?(packet)
      @ticket && @ticket.byteslice(2, 8) == packet.byteslice(2, 8)
    end

    # Whether this thread works on this request.
    def works_on?(ticket)
      @ticket.equal?(ticket)
    end

    def note_gone
      @gone = true
    end

    private

    def input(text)
      StringIO.new(text.force_encoding(Encoding::BINARY)).tap(&:binmode)
    end

    # The request body that Serow keeps in an unnamed file; nil if nobody waits for the response any more. Threads ask
    # one after the other, so each gets its own.
    def file(ticket)
      reply = @replies[ticket.getbyte(1) - 33]
      @worker.asking.synchronize do
        reply.send("G#{ticket}", 0)
        _, _, _, *ancillary = reply.recvmsg(PIECE, 0, 64, scm_rights: true)
        received = ancillary.flat_map { |data| data.unix_rights || [] }.first
        received && Upload.of(received)
      end
    end

    def with_body(packet)
      head = packet.byteslice(10, 8).to_i
      # With ten bytes before it, as in requests without a body.
      request = packet.byteslice(8, TICKET + head)
      request[0, TICKET] = packet.byteslice(0, TICKET)
      input = yield packet.byteslice(18 + head, packet.bytesize)
      return @replies[packet.getbyte(1) - 33].send("E#{packet.byteslice(0, TICKET)}", 0) unless input

      answer(request, request.unpack(@formats[request.getbyte(TICKET)]), input)
      input.close
    end

    # Values are the ticket, the digest of the shape, and what this makes an environment of.
    def answer(packet, values, input)
      @ticket = values[0]
      @reply = @replies[@ticket.getbyte(1) - 33]
      @socket = @gone = @closing = nil
      @env = (@shapes[values[1]] || shape(packet, values[1])).call(values, input)
      status, headers, body = @app.call(@env)
      return respond_at_once(status, headers, body) || respond(status, headers, body) unless @socket

      @closing = body if body.respond_to?(:close)
      finish(status, headers, nil)
    rescue Exception => e # rubocop:disable Lint/RescueException -- the client gets a 500 for any exception
      fail_with(e)
    end

    def fail_with(error)
      # An application that has hijacked the socket leaves this way, as in servers with an event loop.
      async = @socket && error.is_a?(UncaughtThrowError) && error.tag == :async
      text = async ? '' : Serow.describe(error)
      warn text unless async
      @reply.send("x#{@ticket}#{text}".b.byteslice(0, PIECE), 0) unless @socket
      @socket&.abandon unless async
      finish(nil, nil, async ? nil : error)
      raise error unless error.is_a?(StandardError) || error.is_a?(ScriptError)
    end

    # No request waits now, so a requested collection runs at once.
    def collect(packet)
      GC.start
      @replies[packet.getbyte(1) - 33].send("Dr#{packet.byteslice(1, 9)}", 0)
    end

    # Ends a request behind its response: closes the body and runs callbacks. Then the worker is free.
    def finish(status, headers, error)
      closing, @closing = @closing, nil
      quietly { closing.close } if closing
      after, @after_reply = @after_reply, [] unless @after_reply.empty?
      finished, @finished = @finished, [] unless @finished.empty?
      after&.each { |callback| quietly { callback.call } }
      finished&.reverse_each { |callback| quietly { callback.call(@env, status, headers, error) } }
      @reply.send("D#{@ticket}", 0)
    end

    def quietly
      yield
    rescue StandardError, ScriptError => e
      warn Serow.describe(e)
    end
  end
end
