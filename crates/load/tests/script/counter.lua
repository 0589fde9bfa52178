-- Another path and another field with each request.
local number = -1

function request()
   number = number + 1
   wrk.headers["X-Counter"] = number
   return wrk.format(nil, "/" .. number)
end
