
module Serow
  # Responses that the application writes to a socket itself, of which Serow has the other end.
  module Takeover
    # env['rack.hijack'] is this object.
    def call
      return @socket if @socket

      @socket = pair { |theirs| send_with_descriptor("U#{@ticket}", theirs) }
      @env['rack.hijack_io'] = @socket
    end

    private

    # Behind the head comes what `writer` writes to the socket that it gets, now or later, until it closes it. Serow waits for
    # the worker to say that it is free: this is true.
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
