
# Fork hooks, which config/serow.rb in the application's folder may set:
#
#   Serow.before_fork { ActiveRecord::Base.connection_pool.disconnect! }
#   Serow.after_fork { ActiveRecord::Base.establish_connection }
#
# As Unicorn and Rhebok have it, the names also stand alone, and blocks that want to know get a server, which here is
# nil, and a worker, which knows its number from 0 (`worker.nr`). `before_fork` runs in the process that workers are
# forked from, which has the application only where that is loaded before; `after_fork` in the worker, before it takes
# requests.
module Serow
  HOOKS = { before_fork: [], after_fork: [] }.freeze
  Fork = Struct.new(:nr)

  def self.before_fork(&block)
    HOOKS[:before_fork] << block
  end

  def self.after_fork(&block)
    HOOKS[:after_fork] << block
  end

  def self.load_hooks(file = 'config/serow.rb')
    instance_eval(File.read(file), File.expand_path(file)) if File.exist?(file)
  end

  def self.run_hooks(name, place)
    HOOKS[name].each { |hook| hook.call(nil, Fork.new(place.to_i - 1)) }
  end
end
