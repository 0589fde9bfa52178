
module Serow
  # The environments of requests.
  module Environment
    SHAPES = 256 # sets of header names whose code is kept: clients could send any number of them
    FIXED = 13 # values before those of header fields
    VERSION = [1, 6].freeze
    OURS = 'HTTP_VERSION' # not what a field of the name "Version" says

    private

    # The block that makes the environment of requests with these names.
    def shape(names)
      @shapes.clear if @shapes.size >= SHAPES
      @shapes[names.dup.freeze] = compile(names.split(','))
    end

    def compile(names)
      fields = names.each_with_index.map { |name, place| "#{name.dump} => v[#{FIXED + place}]" unless name == OURS }
      eval(<<~RUBY, binding, 'serow.rb', __LINE__ + 1) # rubocop:disable Security/Eval -- names are tokens, and dumped
        lambda do |v, input|
          env = {
            'REQUEST_METHOD' => v[2], 'SCRIPT_NAME' => ''.freeze, 'PATH_INFO' => v[3], 'QUERY_STRING' => v[4],
            'SERVER_PROTOCOL' => v[5], 'HTTP_VERSION' => v[5], 'rack.url_scheme' => v[6], 'SERVER_NAME' => v[7],
            'SERVER_PORT' => v[8], 'REMOTE_ADDR' => v[9], 'REMOTE_PORT' => v[10], 'REQUEST_URI' => v[11],
            'REQUEST_PATH' => v[3], 'SERVER_SOFTWARE' => 'serow'.freeze, 'rack.version' => VERSION,
            'rack.input' => input, 'rack.errors' => $stderr, 'rack.multithread' => #{@worker.threaded?},
            'rack.multiprocess' => true, 'rack.run_once' => false, 'rack.hijack?' => true, 'rack.hijack' => self,
            'rack.early_hints' => @hints, 'rack.after_reply' => @after_reply, 'rack.response_finished' => @finished,
            #{fields.compact.join(', ')}
          }
          env['CONTENT_LENGTH'] = v[12] unless v[12].empty?
          env
        end
      RUBY
    end
  end
end
