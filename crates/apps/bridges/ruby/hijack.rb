
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

  # Responses that the application writes to a socket itself, of which Serow has the other end.
  module Hijack
    # The application writes all of the response to this request.
    def take_over(ticket)
      return @socket if @socket

      @socket = pair { |theirs| send_with_descriptor("U#{ticket}", theirs) }
      @env['rack.hijack_io'] = @socket
    end

    private

    # Behind the head comes what `writer` writes to the socket that it gets, now or later, until it closes it. Serow
    # waits for the worker to say that it is free: this is true.
    def hand_over(head, writer)
      head.setbyte(0, 85) # U
      @socket = pair { |theirs| send_with_descriptor(head, theirs) }
      writer.call(@socket)
      true
    end

    def pair
      ours, theirs = UNIXSocket.pair
      yield theirs
      ours
    ensure
      theirs&.close
    end
  end
end
