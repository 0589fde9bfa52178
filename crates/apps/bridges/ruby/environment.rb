
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
    OURS = 'HTTP_VERSION' # not what a field of the name "Version" says

    private

    # The block that makes the environments of requests of a shape, known by its digest: a literal hash, whose constants cost a tenth of what a
    # string does that is made for one request.
    def shape(packet, digest)
      @shapes.clear if @shapes.size >= SHAPES
      text = packet.unpack("#{@formats[packet.getbyte(Worker::TICKET)]}a*").last
      @shapes[digest.freeze] = compile(*text.split(','))
    end

    def compile(method, protocol, scheme, port, *names)
      values = VALUES.merge(names.each_with_index.to_h { |name, place| [name, FIXED + place] }.reject { |name, _| name == OURS })
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
