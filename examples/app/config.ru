# An application: serow app examples/app/config.ru
run ->(env) { [200, { 'content-type' => 'text/plain' }, ["Hello from Ruby, #{env['PATH_INFO']}\n"]] }
