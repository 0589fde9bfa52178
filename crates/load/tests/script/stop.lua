-- A thread ends itself after some responses.
local left = 2

function response()
   left = left - 1
   if left == 0 then
      wrk.thread:stop()
   end
end
