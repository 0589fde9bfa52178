
module Serow
  # The values of env['rack.hijack'] and env['rack.early_hints'] for one request: a call after its end must not reach
  # the next one.
  class Callbacks
    def initialize(attendant, ticket)
      @attendant = attendant
      @ticket = ticket
    end

    def call(hints = nil)
      raise IOError, 'the request is over' unless @attendant.works_on?(@ticket)

      hints ? @attendant.send_hints(@ticket, hints) : @attendant.take_over(@ticket)
    end
  end

  # The socket for a response that the application writes itself. The response is complete when the application has closed
  # it; where the application fails, or the process ends, Serow cuts the response off.
  class Stream < UNIXSocket
    attr_writer :verdict

    # In an `ensure` of the call: whether the exception goes on shows when the call returns.
    def close
      return @is_ending = true if $! && @caller == Thread.current

      conclude($!.nil?)
      super
    end

    def close_write
      conclude($!.nil?)
      super
    end

    def shutdown(how = Socket::SHUT_RDWR)
      conclude($!.nil?) unless [Socket::SHUT_RD, :RD, :SHUT_RD, 'RD', 'SHUT_RD'].include?(how)
      super
    end

    def closed?
      @is_ending || super
    end

    # `writer` writes to it, now or later.
    def given_to(writer)
      @caller = Thread.current
      writer.call(self)
      @caller = nil
      close if @is_ending
    end

    # The application has failed, which cuts the response off unless the socket was closed before.
    def abandon
      @caller = nil
      conclude(false)
      close
    end

    private

    def conclude(is_complete)
      verdict, @verdict = @verdict, nil
      verdict&.send('.', 0) if is_complete
    rescue SystemCallError
      nil # nobody waits for the response any more
    ensure
      verdict&.close
    end
  end

  # Responses that the application writes to a socket itself, of which Serow has the other end.
  module Hijack
    # The application writes all of the response to this request.
    def take_over(ticket)
      return @socket if @socket

      @socket = pair { |*theirs| send_with_descriptor("U#{ticket}", *theirs) }
      @env['rack.hijack_io'] = @socket
    end

    private

    # Behind the head comes what `writer` writes to the socket that it gets, now or later, until it closes it. Serow
    # waits for the worker to say that it is free: this is true.
    def hand_over(head, writer)
      raise TypeError, "rack.hijack is a #{writer.class}, which cannot be called" unless writer.respond_to?(:call)

      head.setbyte(0, 85) # U
      @socket = pair { |*theirs| send_with_descriptor(head, *theirs) }
      @socket.given_to(writer)
      true
    end

    # A socket, and a channel on which it says that the response is complete.
    def pair
      ours, theirs = Stream.pair
      ours.verdict, their_verdict = UNIXSocket.pair(:SEQPACKET)
      yield theirs, their_verdict
      ours
    ensure
      theirs&.close
      their_verdict&.close
    end
  end
end
