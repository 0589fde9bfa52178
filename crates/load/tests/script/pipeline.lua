-- Three requests at a time, made once.
local together

function init()
   together = ""
   for _, query in ipairs({ "one", "two", "three" }) do
      together = together .. wrk.format(nil, "/?" .. query)
   end
end

function request()
   return together
end
