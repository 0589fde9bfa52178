
module Serow
  # The environments of requests.
  module Environment
    SHAPES = 256 # sets of header names whose code is kept: clients could send any number of them
    FIXED = 13 # values before those of header fields
    VERSION = [1, 6].freeze
    VALUES = {
      'REQUEST_METHOD' => 2, 'PATH_INFO' => 3, 'QUERY_STRING' => 4, 'SERVER_PROTOCOL' => 5, 'HTTP_VERSION' => 5,
      'rack.url_scheme' => 6, 'SERVER_NAME' => 7, 'SERVER_PORT' => 8, 'REMOTE_ADDR' => 9, 'REMOTE_PORT' => 10,
      'REQUEST_URI' => 11, 'REQUEST_PATH' => 3
    }.freeze
    OURS = 'HTTP_VERSION' # not what a field of the name "Version" says

    private

    # The block that makes the environment of requests with these names.
    def shape(names)
      @shapes.clear if @shapes.size >= SHAPES
      @shapes[names.dup.freeze] = compile(names.split(','))
    end

    def compile(names)
      values = VALUES.merge(names.each_with_index.to_h { |name, place| [name, FIXED + place] }.reject { |name, _| name == OURS })
      eval(<<~RUBY, binding, 'serow.rb', __LINE__ + 1) # rubocop:disable Security/Eval -- names are tokens, and dumped
        # frozen_string_literal: true
        lambda do |v, input|
          env = {
            #{values.map { |name, place| "#{name.dump} => v[#{place}]" }.join(', ')},
            'SCRIPT_NAME' => '', 'SERVER_SOFTWARE' => 'serow', 'rack.version' => VERSION, 'rack.input' => input,
            'rack.errors' => $stderr, 'rack.multithread' => #{@worker.threaded?}, 'rack.multiprocess' => true,
            'rack.run_once' => false, 'rack.hijack?' => true, 'rack.hijack' => self, 'rack.early_hints' => @hints,
            'rack.after_reply' => @after_reply, 'rack.response_finished' => @finished
          }
          env['CONTENT_LENGTH'] = v[12] unless v[12].empty?
          env
        end
      RUBY
    end
  end
end
