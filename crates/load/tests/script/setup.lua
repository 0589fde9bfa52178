-- Threads are numbered, count what they do, and are asked for it in the end.
local threads = {}

function setup(thread)
   table.insert(threads, thread)
   thread:set("number", #threads)
end

function init()
   made, seen = 0, 0
   print("thread " .. number .. " is ready")
end

function request()
   made = made + 1
   return wrk.request()
end

function response()
   seen = seen + 1
end

function done()
   for _, thread in ipairs(threads) do
      local line = "thread %d made %d requests and saw %d responses"
      print(line:format(thread:get("number"), thread:get("made"), thread:get("seen")))
   end
end
