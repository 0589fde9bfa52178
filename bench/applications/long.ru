# A dot, or 8 MB in pieces.
PIECE = 'x' * 80_000
run(lambda do |env|
  next [200, { 'content-type' => 'text/plain' }, ['.']] unless env['PATH_INFO'] == '/long'

  [200, { 'content-type' => 'text/plain', 'content-length' => '8000000' }, Enumerator.new { |pieces| 100.times { pieces << PIECE } }]
end)
