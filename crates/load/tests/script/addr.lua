-- Each thread goes to another one of the addresses that somebody listens on.
local reachable = {}
local threads = 0

function setup(thread)
   if threads == 0 then
      for _, port in ipairs(wrk.ports) do
         for _, address in ipairs(wrk.lookup(wrk.host, port)) do
            if wrk.connect(address) then
               table.insert(reachable, address)
            end
         end
      end
   end
   thread.addr = reachable[threads % #reachable + 1]
   threads = threads + 1
end

function init()
   address = tostring(wrk.thread.addr)
end
