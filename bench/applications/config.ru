run ->(_env) { [200, { 'content-type' => 'text/plain' }, ['Hello, World!']] }
