# The application of these tests. Its answer is known from the request's id and its path: system/proxy/content.py.

DONE = ENV.fetch('DONE')
LEAKED = []
# Root may have any number of processes, so a limit would be none. Where the application is loaded before workers are forked, it is so
# for the process that forks them.
Process::UID.change_privilege(65_534) if ENV['UNPRIVILEGED'] && Process.uid.zero?

def content(seed, size)
  line = "#{seed}\n"
  (line * (size / line.bytesize + 1)).byteslice(0, size)
end

# A body that ends with its process.
class Half
  def each
    yield 'x' * 1000
    sleep 0.05
    exit!(1)
  end
end

run lambda { |env|
  id = env['HTTP_X_ID'].to_s
  _, what, number = env['PATH_INFO'].split('/')
  if env['REQUEST_METHOD'] == 'POST'
    env['rack.input'].read
    File.open(DONE, 'a') { |file| file.syswrite("#{id}\n") }
  end
  case what
  when 'bytes'
    sleep 0.002
    [200, { 'content-type' => 'text/plain', 'x-id' => id }, [content(id, number.to_i)]]
  when 'sleep'
    sleep number.to_f / 1000
    [200, { 'x-id' => id }, [content(id, 10)]]
  when 'exit' then exit!(3)
  when 'hang' then sleep
  when 'raise' then raise 'as it was told'
  when 'half' then [200, { 'content-type' => 'text/plain' }, Half.new]
  when 'leak'
    LEAKED << 'x' * 20_000_000
    [200, {}, ['leaked']]
  when 'version' then [200, {}, [ENV.fetch('VERSION', '')]]
  else [404, {}, []]
  end
}
