
module Serow
  # The environments of requests.
  module Environment
    SHAPES = 256 # whose code is kept: clients could send any number of sets of header names
    FIXED = 8 # values before those of header fields
    VERSION = [1, 6].freeze
    VALUES = {
      'PATH_INFO' => 2, 'QUERY_STRING' => 3, 'SERVER_NAME' => 4, 'REMOTE_ADDR' => 5, 'REMOTE_PORT' => 6, 'REQUEST_URI' => 7,
      'REQUEST_PATH' => 2
    }.freeze
    OURS = 'HTTP_VERSION' # not the value of a header field "Version"

    private

    # What makes the environments of requests of a shape, known by its digest. A block is compiled for a shape that
    # comes a second time: compiling one costs as much as ten requests, and clients may send names only once.
    def shape(packet, digest)
      text = packet.unpack("#{@formats[packet.getbyte(Worker::TICKET)]}a*").last
      return keep(@shapes, digest, compile(*text.split(','))) if @seen.delete(digest)

      keep(@seen, digest, true)
      ->(values, input) { environment(values, input, *text.split(',')) }
    end

    # Evicts the oldest.
    def keep(shapes, digest, kept)
      shapes.shift if shapes.size >= SHAPES
      shapes[digest.freeze] = kept
    end

    # The values of names by their places.
    def places(names)
      VALUES.merge(names.each_with_index.to_h { |name, place| [name, FIXED + place] }.reject { |name, _| name == OURS })
    end

    # An environment for a shape without a compiled block.
    def environment(given, input, method, protocol, scheme, port, *names)
      callbacks = Callbacks.new(self, given[0])
      {
        'REQUEST_METHOD' => method, 'SERVER_PROTOCOL' => protocol, 'HTTP_VERSION' => protocol,
        'rack.url_scheme' => scheme, 'SERVER_PORT' => port, 'SCRIPT_NAME' => '',
        'SERVER_SOFTWARE' => 'serow', 'rack.version' => VERSION, 'rack.input' => input, 'rack.errors' => $stderr,
        'rack.multithread' => @worker.threaded?, 'rack.multiprocess' => true, 'rack.run_once' => false,
        'rack.hijack?' => true, 'rack.hijack' => callbacks, 'rack.early_hints' => callbacks,
        'rack.after_reply' => @after_reply, 'rack.response_finished' => @finished
      }.merge!(places(names).transform_values { |place| given[place] })
    end

    # The block for a shape: a literal hash, whose constants cost a tenth of strings allocated per request.
    def compile(method, protocol, scheme, port, *names)
      values = places(names)
      eval(<<~RUBY, binding, 'serow.rb', __LINE__ + 1) # rubocop:disable Security/Eval -- names are tokens, and dumped
        # frozen_string_literal: true
        lambda do |v, input|
          {
            #{values.map { |name, place| "#{name.dump} => v[#{place}]" }.join(', ')},
            'REQUEST_METHOD' => #{method.dump}, 'SERVER_PROTOCOL' => #{protocol.dump}, 'HTTP_VERSION' => #{protocol.dump},
            'rack.url_scheme' => #{scheme.dump}, 'SERVER_PORT' => #{port.dump}, #{"'SCRIPT_NAME' => ''," unless names.include?('SCRIPT_NAME')}
            'SERVER_SOFTWARE' => 'serow', 'rack.version' => VERSION, 'rack.input' => input, 'rack.errors' => $stderr,
            'rack.multithread' => #{@worker.threaded?}, 'rack.multiprocess' => true, 'rack.run_once' => false,
            'rack.hijack?' => true, 'rack.hijack' => (callbacks = Callbacks.new(self, v[0])), 'rack.early_hints' => callbacks,
            'rack.after_reply' => @after_reply, 'rack.response_finished' => @finished
          }
        end
      RUBY
    end
  end
end
