
module Serow
  # The response of the application, as it is sent to Serow.
  module Response
    # Early hints: resources that the client may load already. Fields that cannot be sent are left out, here and in Serow:
    # without them, the client loads a little later.
    def send_hints(ticket, headers)
      head = "I#{ticket}\x00103".b
      headers.each do |field|
        write_fields([field], head)
      rescue StandardError => e
        warn Serow.describe(e)
      end
      @reply.send(head << "\0\0", 0)
    end

    private

    def respond(status, headers, body)
      @closing = body if body.respond_to?(:close)
      head = "R#{@ticket}\0#{status}"
      hijack = write_fields(headers, head)
      head << "\0\0"
      # The string has taken the encoding of its parts.
      head.force_encoding(Encoding::BINARY)
      if hijack
        stays = hand_over(head, hijack)
      elsif body.is_a?(Array)
        stays = send_whole(head, body)
      else
        stays = send_body(head, body)
      end
      finish(status, headers, nil) if stays
    end

    # The usual response: a body of one string, nothing to do after it, and only strings as header values. All in one
    # method, because method calls dominate the cost. Returns whether it has sent the response.
    def respond_at_once(status, headers, body)
      return unless body.is_a?(Array) && body.size == 1 && @after_reply.empty? && @finished.empty?
      # A subclass of Array may have it.
      return if body.respond_to?(:close)

      packet = "R#{@ticket}\0#{status}"
      parts = 1
      headers.each do |name, value|
        return unless value.is_a?(String)

        packet << "\0" << name << "\0" << value
        parts += 2
      end
      # A NUL in a value or an empty name would shift names and values.
      return if packet.count("\0") != parts || packet.include?("\0\0")
      return if REFUSES_LINES && packet.include?("\n")

      whole = body[0]
      return if packet.bytesize + whole.bytesize + 2 > PIECE

      @reply.send(packet << "\0\0" << whole, 0)
    rescue Encoding::CompatibilityError
      nil
    end

    # Returns the callback for a hijacked socket, if the application set one. Fails without having written anything.
    def write_fields(headers, head)
      start = head.bytesize
      begin
        write_each(headers, head)
      rescue Encoding::CompatibilityError
        head.replace(head.byteslice(0, start))
        write_each(headers, head.force_encoding(Encoding::BINARY), &:b)
      end
    rescue StandardError
      head.replace(head.byteslice(0, start))
      raise
    end

    # A block may change the fields.
    def write_each(headers, head, &change)
      hijack = nil
      headers.each do |name, value|
        raise ArgumentError, "a header field has no name, or a NUL in it: #{name.inspect}" if name.empty? || name.include?("\0")

        if value.is_a?(String) && !change && !value.include?("\0") && !(REFUSES_LINES && value.include?("\n"))
          head << "\0" << name << "\0" << value
        elsif name == 'rack.hijack'
          hijack = value
        elsif !name.start_with?('rack.') && !value.nil?
          write_values(name, value, head, change)
        end
      end
      hijack
    end

    def write_values(name, value, head, change)
      (value.is_a?(Array) ? value : [value.to_s]).each do |one|
        if one.include?("\0") || (REFUSES_LINES && one.include?("\n"))
          raise ArgumentError, "the header field #{name.inspect} has a NUL or a line break: #{one.inspect}"
        end

        head << "\0" << (change ? name.b : name) << "\0" << (change ? one.b : one)
      end
    end

    # Like all methods that send a body, it returns whether the worker still has to report that it is free.
    def send_whole(head, pieces)
      stays = stays?
      whole = pieces.size == 1 ? pieces[0] : join(pieces)
      if head.bytesize + whole.bytesize <= PIECE
        head.setbyte(0, 114) if stays # r
        @reply.send(head << (whole.ascii_only? ? whole : whole.b), 0)
      else
        head[-2, 2] = "\0content-length\0#{whole.bytesize}\0\0" unless head.match?(/\0content-length\0/in)
        head.setbyte(0, 72) # H
        @reply.send(head, 0)
        send_piece(whole)
        @reply.send("#{stays ? 'e' : 'E'}#{@ticket}", 0)
      end
      stays
    end

    # A body may have a method, and nothing to give: then another one is called. Rack::BodyProxy and Rails before 7.1
    # have `to_ary`, and it gives nil.
    def send_body(head, body)
      if body.respond_to?(:to_path) && (file = regular_file(body.to_path))
        send_file(head, file)
      elsif body.respond_to?(:to_ary) && (pieces = body.to_ary).is_a?(Array)
        # Rack 3: it has closed itself.
        @closing = nil unless Rack.release < '3'
        send_whole(head, pieces)
      elsif body.respond_to?(:each)
        send_pieces(head, body)
      elsif body.respond_to?(:call)
        hand_over(head, body)
      else
        raise TypeError, "the body is a #{body.class}, which has neither each nor call"
      end
    end

    # Opens a file that can be sent as it is. Opening must not block on a pipe; files in /proc report a size of 0. Without
    # File.path, a number would be taken for an open descriptor.
    def regular_file(path)
      file = File.open(File.path(path), File::RDONLY | File::NONBLOCK | File::NOCTTY)
      return file if file.stat.file? && file.size.positive?

      file.close
    rescue SystemCallError, TypeError, ArgumentError
      nil
    end

    # Sent by its descriptor: the file may be deleted before Serow could open it.
    def send_file(head, file)
      stays = stays?
      head.setbyte(0, stays ? 102 : 70) # f, F
      send_with_descriptor(head, file)
      stays
    ensure
      file.close
    end

    # The first piece is sent with the head.
    def send_pieces(head, body)
      start = head
      start.setbyte(0, 72) # H
      body.each do |piece|
        next if piece.empty?
        break if start.nil? && gone?

        start = start ? send_first(start, piece) : send_piece(piece)
      end
      stays = stays?
      start&.setbyte(0, stays ? 114 : 82) # r, R
      @reply.send(start || "#{stays ? 'e' : 'E'}#{@ticket}", 0)
      stays
    end

    def send_first(head, piece)
      fits = head.bytesize + piece.bytesize <= PIECE
      head << piece.b if fits
      @reply.send(head, 0)
      send_piece(piece) unless fits
    end

    # Whether there is something to do after the response.
    def stays?
      !@closing.nil? || !@after_reply.empty? || !@finished.empty?
    end

    def send_piece(piece)
      start = "B#{@ticket}".b
      offset = 0
      while offset < piece.bytesize
        @reply.send(start + piece.byteslice(offset, PIECE).b, 0)
        offset += PIECE
      end
      nil
    end

    def join(pieces)
      pieces.join
    rescue Encoding::CompatibilityError
      pieces.map(&:b).join
    end

    def send_with_descriptor(packet, *ios)
      @reply.send("S#{@ticket}", 0)
      @reply.sendmsg(packet, 0, nil, Socket::AncillaryData.unix_rights(*ios))
    end

    # Whether the client is gone: Serow reports that on the socket for requests. Reports about other requests are
    # skipped.
    def gone?
      nil while !@gone && @requests.wait_readable(0) && @worker.take_gone
      @gone
    end
  end
end
